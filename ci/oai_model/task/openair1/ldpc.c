// SPDX-License-Identifier: BSD-3-Clause
/// @file ldpc.c
/// The module: opened at run time, links nothing of the pool, and completes some tasks itself.
#include "executables/softmodem.h"
#include "openair1/group.h"

static void encode(void *arg)
{
  segment_t *segment = arg;
  segment->value ^= segment->value << 7;
  completed_task_ans(segment->ans);
}

uint64_t ldpc_burst(tpool_t *pool, uint64_t seed)
{
  MODEL_SAY_HEADER("ldpc.c");
  segment_t segment[32];
  group_t group;
  group_begin(&group, 32);
  for (uint32_t i = 0; i < 20; i++) {
    segment[i] = (segment_t){.value = seed + i, .ans = group_answer(&group, i)};
    pushTpool(pool, (task_t){.args = &segment[i], .func = encode});
  }
  group_skip(&group, 20, 12);
  group_join(&group, 32);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 20; i++)
    sum += segment[i].value;
  return sum;
}
