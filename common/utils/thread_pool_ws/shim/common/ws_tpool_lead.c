// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_lead.c
/// ws_tpool_lead.h. Each thread learns for itself: no lock, no shared line.
///
/// A site's life:  unknown --KEPT_MIN times armed, and a push each time--> kept: arming wakes
///                         <--a push at once, much later, not at all, or to another pool--
/// Armed several times in short order before the push (an estimation a DMRS symbol and layer): the last
/// counts.
#include "ws_tpool_lead.h"

#include <time.h>

#include "ws_pool.h"

#define SITES 8u
/// Times in a row that a push must have followed.
#define KEPT_MIN 3u
/// Pushes that follow sooner wake a worker themselves, no later.
#define LEAD_NS_MIN 2000u
/// Wake latency of the slowest CPUs. If the push came later, a worker would spin for too long.
#define LEAD_NS_MAX 100000u

typedef struct {
  const void *address; ///< NULL = free
  uint64_t armed_ns; ///< 0 = a push has come since
  uint64_t lead_ns; ///< slowly sinking maximum
  uint32_t kept; ///< times in a row that it was within bounds, and the push went to the same pool
  ws_tpool_t *tpool; ///< where the push went
} site_t;

static _Thread_local struct {
  site_t site[SITES];
  uint32_t next; ///< site to replace next
  bool waits; ///< some site has no push yet
} leads;

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static site_t *find(const void *address)
{
  for (uint32_t i = 0; i < SITES; i++)
    if (leads.site[i].address == address)
      return &leads.site[i];
  site_t *site = &leads.site[leads.next];
  leads.next = (leads.next + 1) % SITES;
  *site = (site_t){.address = address};
  return site;
}

void ws_tpool_lead_arm(const void *address, uint32_t workers)
{
  site_t *site = find(address);
  const uint64_t now = now_ns();
  if (site->armed_ns != 0 && now - site->armed_ns > LEAD_NS_MAX)
    site->kept = 0;
  site->armed_ns = now;
  leads.waits = true;
  if (site->kept < KEPT_MIN)
    return;
  if (ws_tpool_enter(site->tpool) && site->tpool->hints)
    ws_pool_prewake(site->tpool->pool, workers, site->lead_ns + site->lead_ns / 2);
  ws_tpool_leave(site->tpool);
}

static void learn(site_t *site, uint64_t lead_ns, ws_tpool_t *tpool)
{
  const bool in_bounds = lead_ns >= LEAD_NS_MIN && lead_ns <= LEAD_NS_MAX;
  const bool same_pool = !site->tpool || tpool == site->tpool;
  site->kept = in_bounds && same_pool ? site->kept + 1 : 0;
  if (in_bounds) // a push after an idle second is not learnt from
    site->lead_ns = lead_ns > site->lead_ns ? lead_ns : site->lead_ns - (site->lead_ns - lead_ns) / 8;
  site->tpool = tpool;
  site->armed_ns = 0;
}

void ws_tpool_lead_push(ws_tpool_t *tpool)
{
  if (!leads.waits)
    return;
  leads.waits = false;
  const uint64_t now = now_ns();
  for (uint32_t i = 0; i < SITES; i++)
    if (leads.site[i].armed_ns != 0)
      learn(&leads.site[i], now - leads.site[i].armed_ns, tpool);
}
