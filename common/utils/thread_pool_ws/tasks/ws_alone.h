// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_alone.h
/// Bursts that end so soon that a woken worker is no help: what the thread that pushes and joins has learnt
/// about them. Plain arithmetic; one thread. ws_brief.c decides with it whether a push wakes a worker.
///
/// Site    The bursts of one function from one thread, told apart by the function of the task whose push
///         would wake a worker.
/// Alone   A burst that the thread ends alone, or nearly so, in less time than a wake costs. Where nearly all
///         bursts of a site are so, its pushes wake no worker while no more tasks wait than such a burst had.
/// Trial   Now and then a burst wakes a worker all the same, so that a wake that has become cheaper is seen.
#ifndef WS_ALONE_H
#define WS_ALONE_H

#include <stdbool.h>
#include <stdint.h>

/// Functions that a thread keeps apart.
#define WS_ALONE_SITES 4u
/// A burst alone adds one to a site's score, another one takes away so much: the score rises while more than
/// 16 of 17 bursts are alone. From this score on the site's pushes wake no worker.
#define WS_ALONE_ENOUGH 16u
/// Bound of the score: two mistakes end that.
#define WS_ALONE_MAX 40u
/// A burst of the site wakes a worker once in so many: too rare to show in p99, and prime, so that in a
/// pattern of several bursts each one is tried.
#define WS_ALONE_TRIAL_EVERY 509u

typedef struct {
  void (*func)(void *arg); ///< NULL = not in use
  uint64_t size; ///< most tasks of a burst alone
  uint32_t score;
  uint32_t bursts; ///< so far
} ws_alone_site_t;

/// A burst in progress, and the sites.
typedef struct {
  bool noted; ///< a burst is in progress
  bool trial; ///< it wakes a worker in any case
  uint32_t at, before; ///< sites of this burst and of the one before
  uint64_t begun_ns, ended_ns; ///< of this burst, and of the one before
  uint64_t pushed, taken, wakes; ///< when it began: tasks pushed, tasks that other threads have taken, wakes
  ws_alone_site_t site[WS_ALONE_SITES];
} ws_alone_t;

/// What a burst has shown.
typedef struct {
  uint64_t tasks;
  bool alone; ///< a wake has gained nothing, or would have
} ws_alone_burst_t;

/// @return the index of the function's site, which may take the place of another one
static inline uint32_t ws_alone_find(ws_alone_t *its, void (*func)(void *arg))
{
  // functions begin at multiples of 16
  const uint32_t at = (uint32_t)(((uintptr_t)func >> 4) ^ ((uintptr_t)func >> 12)) % WS_ALONE_SITES;
  if (its->site[at].func != func)
    its->site[at] = (ws_alone_site_t){.func = func};
  return at;
}

/// A burst of the site was not over before a worker could help.
static inline void ws_alone_mistake(ws_alone_site_t *site)
{
  site->score -= site->score < WS_ALONE_ENOUGH ? site->score : WS_ALONE_ENOUGH;
  if (site->score == 0)
    site->size = 0;
}

static inline void ws_alone_learn(ws_alone_site_t *site, const ws_alone_burst_t *burst)
{
  if (burst->alone) {
    site->size = burst->tasks > site->size ? burst->tasks : site->size;
    site->score += site->score < WS_ALONE_MAX;
  } else if (burst->tasks <= site->size) { // a wider burst says nothing about those
    ws_alone_mistake(site);
  }
}

/// @return whether a push of the site wakes no worker, while @p waiting tasks wait in the thread's queue
static inline bool ws_alone_spares(const ws_alone_site_t *site, uint64_t waiting)
{
  return site->score >= WS_ALONE_ENOUGH && waiting <= site->size;
}

#endif
