// SPDX-License-Identifier: BSD-3-Clause
/// @file oai_profiler.h
/// The model's profiler: each thread has a context, which goes with what it pushes.
#ifndef OAI_PROFILER_H
#define OAI_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t absolute_slot;
  uint64_t correlation_id;
} oai_profile_context_t;

typedef struct {
  oai_profile_context_t context;
  uint64_t dispatch_tick;
} oai_profile_work_t;

#ifdef __cplusplus
extern "C" {
#endif
extern int oai_profiler_enabled;
static inline bool oai_profiler_is_enabled(void)
{
  return oai_profiler_enabled != 0;
}
void oai_profiler_set_context(oai_profile_context_t context);
oai_profile_context_t oai_profiler_get_context(void);
oai_profile_work_t oai_profiler_capture_work(int64_t absolute_slot);
oai_profile_context_t oai_profiler_enter_work(oai_profile_work_t work);
void oai_profiler_leave_work(oai_profile_context_t before);
#ifdef __cplusplus
}
#endif

#endif
