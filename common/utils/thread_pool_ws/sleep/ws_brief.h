// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_brief.h
/// Wakes that are not made, because the burst would be over before the worker runs. A worker that is not
/// woken is no loss of liveness: the guard stands, as after every push, and wakes a worker if the tasks wait
/// all the same. A pool without a guard spares no wake.
///
/// Site    The bursts of one function from one thread, told apart by the function of the task whose push
///         would wake a worker.
/// Alone   A burst that the thread ends alone, or nearly so, in less time than a wake costs. Where nearly all
///         bursts of a site are so, its pushes wake no worker while no more tasks wait than such a burst had.
/// Trial   Now and then a burst wakes a worker all the same, so that a wake that has become cheaper is seen.
#ifndef WS_BRIEF_H
#define WS_BRIEF_H

#include "../pool/ws_types.h"

/// @brief A push is about to wake a worker, because none searches. Notes the beginning of the burst.
/// @return whether the wake is spared; the caller must see to the guard
bool ws_brief_needs_no_wake(struct ws_pool_s *pool, ws_here_t here);

/// @brief A wait of the queue's owner has ended, and a burst was noted: learn from it.
/// @threads  the owner
void ws_brief_end(struct ws_pool_s *pool, ws_queue_t *queue);

// How a site learns. Plain arithmetic.

/// A burst alone adds one to a site's score, another one takes away so much: the score rises while more than
/// 16 of 17 bursts are alone. From this score on the site's pushes wake no worker.
#define WS_BRIEF_ENOUGH 16u
/// Bound of the score: two mistakes end that.
#define WS_BRIEF_MAX 40u
/// A burst of the site wakes a worker once in so many: too rare to show in p99, and prime, so that in a
/// pattern of several bursts each one is tried.
#define WS_BRIEF_TRIAL_EVERY 509u

/// @return the index of the function's site, which may take the place of another one
static inline uint32_t ws_brief_find(ws_brief_t *its, void (*func)(void *arg))
{
  // functions begin at multiples of 16
  const uint32_t at = (uint32_t)(((uintptr_t)func >> 4) ^ ((uintptr_t)func >> 12)) % WS_BRIEF_SITES;
  if (its->site[at].func != func)
    its->site[at] = (ws_brief_site_t){.func = func};
  return at;
}

/// A burst of the site was not over before a worker could help.
static inline void ws_brief_mistake(ws_brief_site_t *site)
{
  site->score -= site->score < WS_BRIEF_ENOUGH ? site->score : WS_BRIEF_ENOUGH;
  if (site->score == 0)
    site->size = 0;
}

/// A burst is over. @param alone  a wake has gained nothing, or would have
static inline void ws_brief_learn(ws_brief_site_t *site, uint64_t tasks, bool alone)
{
  if (alone) {
    site->size = tasks > site->size ? tasks : site->size;
    site->score += site->score < WS_BRIEF_MAX;
  } else if (tasks <= site->size) { // a wider burst says nothing about those
    ws_brief_mistake(site);
  }
}

/// @return whether a push of the site wakes no worker, while @p waiting tasks wait in the thread's queue
static inline bool ws_brief_spares(const ws_brief_site_t *site, uint64_t waiting)
{
  return site->score >= WS_BRIEF_ENOUGH && waiting <= site->size;
}

#endif
