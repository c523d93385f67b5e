// SPDX-License-Identifier: BSD-3-Clause
/// @file oai_profiler.c
/// oai_profiler.h
#include "oai_profiler.h"

int oai_profiler_enabled;
static __thread oai_profile_context_t context;

void oai_profiler_set_context(oai_profile_context_t new_context)
{
  context = new_context;
}

oai_profile_context_t oai_profiler_get_context(void)
{
  return context;
}

oai_profile_work_t oai_profiler_capture_work(int64_t absolute_slot)
{
  oai_profile_work_t work = {.context = context, .dispatch_tick = 1};
  work.context.absolute_slot = absolute_slot;
  return work;
}

oai_profile_context_t oai_profiler_enter_work(oai_profile_work_t work)
{
  const oai_profile_context_t before = context;
  context = work.context;
  return before;
}

void oai_profiler_leave_work(oai_profile_context_t before)
{
  context = before;
}
