// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wide.c
/// ws_wide.h: how many inboxes, domains and summary words a pool has, and which domain is a worker's.
#include "ws_wide.h"

#include "../pool/ws_types.h"
#include "../tasks/ws_summary.h"

/// Pools with fewer workers have no inboxes. Simulated, a slot of as many tasks as threads takes 1 to 2 %
/// longer without them on 4 CPUs, 9 % on 6, 16 % on 8 and 30 % on 12; others take as long.
#define INBOXES_FROM 4u
/// Pools with fewer workers have no domains, and no dispatchers.
#define DOMAINS_FROM 16u
/// Workers of one domain, about; WS_DOMAINS_MAX bounds their number, because a dispatcher looks at all of
/// them.
#define DOMAIN_WORKERS 8u
/// Pools with fewer workers have no summaries. Simulated, nested fib takes 8 % longer with them on 28 CPUs
/// of a Xeon, as long on 32 of an EPYC, 6 % less on 72 of a Grace, and a quarter of the time on 128 of an
/// EPYC.
#define SUMMARIES_FROM 33u

static uint32_t parts(uint32_t workers, uint32_t each)
{
  return (workers + each - 1) / each;
}

void ws_wide_plan(ws_tasks_t *tasks, uint32_t workers)
{
  tasks->inboxes = workers < INBOXES_FROM ? 0 : workers;
  const uint32_t domains = workers < DOMAINS_FROM ? 0 : parts(workers, DOMAIN_WORKERS);
  tasks->domains = domains < WS_DOMAINS_MAX ? domains : WS_DOMAINS_MAX;
  tasks->summaries = workers < SUMMARIES_FROM ? 0 : parts(workers, WS_SUMMARY_WORKERS);
}

uint32_t ws_wide_domain(const ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  const uint32_t caches = pool->near.caches > 0 ? pool->near.caches : 1, domains = pool->tasks.domains;
  const uint32_t cpu = ws_hint_load(&worker->seen_cpu);
  const uint32_t cache = cpu > 0 && cpu <= WS_CPUS_MAX ? pool->near.cache_of_cpu[cpu - 1] : 0;
  const uint32_t first = cache * domains / caches, end = (cache + 1) * domains / caches;
  return end > first ? first + worker->index % (end - first) : first;
}
