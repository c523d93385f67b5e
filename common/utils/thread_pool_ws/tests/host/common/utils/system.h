// SPDX-License-Identifier: BSD-3-Clause
/// @file system.h
/// Stand-in for how the host makes threads: real-time and bound to a processor where the process may do that.
#ifndef WS_HOST_SYSTEM_H
#define WS_HOST_SYSTEM_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SCHED_OAI SCHED_RR
#define OAI_PRIORITY_RT ((sched_get_priority_min(SCHED_OAI) + sched_get_priority_max(SCHED_OAI)) / 2)
#define OAI_PRIORITY_RT_MAX (sched_get_priority_max(SCHED_OAI) - 2)

/// @return whether the process may ask for real-time scheduling
bool has_cap_sys_nice(void);

/// @brief Start a thread.
/// @param name      if longer than the system allows, the thread has none, without a message
/// @param affinity  processor, -1 = any; ignored without CAP_SYS_NICE
/// @param priority  of SCHED_RR; ignored without CAP_SYS_NICE
void threadCreate(pthread_t *t, void *(*func)(void *), void *param, char *name, int affinity, int priority);

#ifdef __cplusplus
}
#endif

#endif
