// SPDX-License-Identifier: BSD-3-Clause
/// @file ulsch.c
/// The caller of the newest OAI: asks the pool's struct for the number of threads, and runs the last task
/// of a batch itself.
#include "common/utils/threadPool/thread-pool.h"
#include "executables/softmodem.h"
#include "openair1/group.h"

static void decode(void *arg)
{
  segment_t *segment = arg;
  for (uint32_t i = 0; i < segment->rounds; i++)
    segment->value = segment->value * 6364136223846793005u + 1442695040888963407u;
  completed_task_ans(segment->ans);
}

uint64_t ulsch_burst(tpool_t *pool, uint32_t count, uint64_t seed)
{
  static const tpool_t zeroed;
  AssertFatal(zeroed.len_thr == 0, "a zeroed pool has threads");
  segment_t segment[SEGMENTS_MAX];
  group_t group; // on the stack, gone right after the join
  tpool_t *used = pool->len_thr == 0 ? NULL : pool;
  group_begin(&group, count);
  for (uint32_t i = 0; i < count; i++) {
    segment[i] = (segment_t){.value = seed + i, .rounds = 100 + 37 * i, .ans = group_answer(&group, i)};
    pushTpool_batch(used, (task_t){.args = &segment[i], .func = decode}, i + 1 == count);
  }
  group_join(&group, count);
  fprintf(stderr, "model: len_thr %zu\n", (size_t)pool->len_thr);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; i++)
    sum += segment[i].value * (2 * i + 1);
  return sum;
}
