// SPDX-License-Identifier: BSD-3-Clause
/// @file radio.cpp
/// The caller in C++, with the third spelling.
#include <common/utils/threadPool/thread-pool.h>
#include <threadPool/task_ans.h>

#include "executables/softmodem.h"
#include "openair1/group.h"

static void fold(void *arg)
{
  segment_t *segment = static_cast<segment_t *>(arg);
  segment->value ^= segment->value << 13;
  completed_task_ans(segment->ans);
}

uint64_t radio_burst(tpool_t *pool, uint64_t seed)
{
  MODEL_SAY_HEADER("radio.cpp");
  segment_t segment = {seed, 0, nullptr};
  group_t group;
  group_begin(&group, 1);
  segment.ans = group_answer(&group, 0);
  pushTpool(pool, task_t{&segment, fold});
  group_join(&group, 1);
  return segment.value;
}
