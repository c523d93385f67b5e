// SPDX-License-Identifier: BSD-3-Clause
/// @file support.c
/// contract.h: pools.

#include "contract.h"

#define GARBAGE 0xA5
#define POOLS_MAX 512

/// A pool that is never ended is no leak.
static struct {
  tpool_t *volatile pool[POOLS_MAX];
  uint32_t count;
} made;

bool contract_ours_only(const char *why)
{
#ifdef CONTRACT_OURS
  return true;
#else
  if (getenv("CONTRACT_ALL"))
    return true;
  printf("SKIP: %s\n", why);
  return false;
#endif
}

tpool_t *contract_memory(void)
{
  tpool_t *pool = malloc(sizeof(*pool));
  if (!pool)
    abort();
  memset(pool, GARBAGE, sizeof(*pool));
  made.pool[made.count++ % POOLS_MAX] = pool;
  return pool;
}

tpool_t *contract_pool(int workers)
{
  tpool_t *pool = contract_memory();
  initFloatingCoresTpool(workers, pool, false, (char[]){"contract"});
  return pool;
}

tpool_t *contract_pool_of(const char *params)
{
  char text[256];
  snprintf(text, sizeof(text), "%s", params);
  tpool_t *pool = contract_memory();
  initTpool(text, pool, false);
  return pool;
}

uint32_t contract_threads(const tpool_t *pool)
{
#if CONTRACT_TASKS
  return (uint32_t)pool->len_thr;
#else
  return (uint32_t)tpool_nbthreads((*pool));
#endif
}

void contract_end(tpool_t *pool)
{
#ifdef CONTRACT_OURS
  abortTpool(pool);
  if (CONTRACT_TASKS) // a pool of shape A may be used after its end: its memory must stay
    free(pool);
#endif
}

bool contract_runs(tpool_t *pool, uint32_t jobs)
{
  batch_t batch;
  ws_au64_t ran = {0};
  batch_begin(&batch, jobs);
  for (uint32_t i = 0; i < jobs; i++)
    batch_push(&batch, pool, test_count_task, &ran);
  batch_end(&batch, pool);
  return test_value(&ran) == jobs;
}
