// SPDX-License-Identifier: BSD-3-Clause
/// @file ulsch.c
/// The caller in a tree with a profiler: a task's result holds the context of the thread that pushed it,
/// and tasks spoil the context of the thread that runs them.
#include "common/utils/threadPool/thread-pool.h"
#include "executables/softmodem.h"
#include "openair1/group.h"

static void decode(void *arg)
{
  segment_t *segment = arg;
  segment->value = segment->value * 31 + (uint64_t)oai_profiler_get_context().absolute_slot;
  oai_profiler_set_context((oai_profile_context_t){.absolute_slot = 9999});
  completed_task_ans(segment->ans);
}

uint64_t ulsch_burst(tpool_t *pool, uint32_t count, uint64_t seed)
{
  segment_t segment[SEGMENTS_MAX];
  group_t group; // on the stack, gone right after the join
  oai_profiler_enabled = seed % 2 == 0;
  const oai_profile_context_t context = {.absolute_slot = (int64_t)seed + 5};
  group_begin(&group, count);
  for (uint32_t i = 0; i < count; i++) {
    oai_profiler_set_context(context);
    segment[i] = (segment_t){.value = seed + i, .ans = group_answer(&group, i)};
    pushTpool(pool, (task_t){.args = &segment[i], .func = decode});
  }
  group_join(&group, count);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count && oai_profiler_enabled; i++) // while it is off the context is not set
    sum += segment[i].value * (2 * i + 1);
  return sum;
}
