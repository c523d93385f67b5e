// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_service.h
/// The library's own threads. ws_alarm ends time limits, ws_reactor waits for file descriptors: one thread
/// each for all pools of the process. They never end.
///
/// Class  A service has a priority above all that it serves. A worker that runs fibers without end never
///        sleeps: on one CPU with a service of the same real-time priority, or a lower one, it would keep the
///        time limits of its own fibers waiting. So a service is SCHED_FIFO, one above the highest real-time
///        priority of those that have waited for it, 99 at most. As long as there is none, it is SCHED_OTHER.
///        It never has its creator's class. A wait for a higher pool raises it; nothing lowers it again.
/// Source For a fiber, the priority of its pool counts: the highest of its workers. Any other caller counts
///        with its own.
/// Rights Where the system refuses the priority above, the service takes an equal one; where it refuses that,
///        too, the service stays as it is. One warning for each service.
#ifndef WS_SERVICE_H
#define WS_SERVICE_H

#include "../include/ws_pool.h" // IWYU pragma: export
#include "ws_fiber_types.h" // IWYU pragma: export

/// Begins as {0}. Its functions are called under a lock of the caller's, but for the looks at served.
typedef struct {
  ws_au32_t served; ///< S 1 + the highest real-time priority of the waits so far; 0 = there was none
  bool runs;
  bool warned;
  pthread_t thread; ///< if it runs
} ws_service_t;

/// @brief Start the service, unless it runs. @return 0 or -errno
int ws_service_start(ws_service_t *service, void *(*func)(void *arg), void *arg);

/// @brief A thread of the library calls this first: it is detached, and gets its name. It was made by some
/// worker, which may be pinned: have it run where the process's first thread may.
void ws_service_enter(const char *name);

/// @return the real-time priority that counts for the calling thread, or for @p fiber, which calls; 0 = none
uint32_t ws_service_priority(const ws_fiber_t *fiber);

/// @return whether a wait of this priority raises the service
static inline bool ws_service_must_rise(const ws_service_t *service, uint32_t priority)
{
  return ws_hint_load(&service->served) <= priority; // looked at again under the lock
}

/// @brief Serve a wait of this priority: raise the service, which runs, if it must rise.
/// @return 0; an error number the first time that the system refuses: the caller must call ws_service_warn()
/// without a lock
int ws_service_serve(ws_service_t *service, uint32_t priority);

/// @param fiber  that waits, for its pool's function for warnings; NULL = none: the warning goes to stderr
/// @param error  from ws_service_serve(); 0 = nothing happens
void ws_service_warn(const char *name, const ws_fiber_t *fiber, int error);

#endif
