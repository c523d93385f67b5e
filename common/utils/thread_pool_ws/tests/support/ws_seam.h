// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_seam.h
/// The seam: functions between files of the pool, and of the C library, in whose place a test's own can be
/// called. A suite has them so before each of its cases, when no pool runs:
///   static uint64_t ws_os_now_ns_seam(void) { ... __real_ws_os_now_ns() ... }
///   TEST_MAIN_SEAMS("suite", SEAM(ws_os_now_ns))
/// A function is in the seam if it is in the list below: CMake reads it and links with --wrap. Prefer
/// functions of os/ and of the C library: they stay when a room is rewritten. A call within the file that
/// defines the function does not go through the seam.
#ifndef WS_SEAM_H
#define WS_SEAM_H

#include <sys/vfs.h>

#include "../../core/ws_push.h" // IWYU pragma: export
#include "../../fiber/ws_fiber_types.h"
#include "../../fiber/ws_lot.h" // IWYU pragma: export
#include "../../include/ws_sync.h" // IWYU pragma: export
#include "../../prewake/ws_prewake_state.h" // IWYU pragma: export
#include "../../record/ws_held_file.h" // IWYU pragma: export
#include "../../sleep/ws_decide.h" // IWYU pragma: export
#include "../../wide/ws_wide.h" // IWYU pragma: export
#include "ws_test.h" // IWYU pragma: export

/// X(type of the result, name, parameters, arguments), V(name, parameters, arguments): without a result
#define WS_SEAM_CORE(X, V)                                                                                   \
  X(void *, calloc, (size_t count, size_t bytes), (count, bytes))                                            \
  X(int, flock, (int file, int what), (file, what))                                                          \
  X(unsigned long, getauxval, (unsigned long type), (type))                                                  \
  X(int, pthread_create, (pthread_t * thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg), \
    (thread, attr, body, arg))                                                                               \
  X(int, pthread_key_create, (pthread_key_t * key, void (*end)(void *)), (key, end))                         \
  X(int, pthread_key_delete, (pthread_key_t key), (key))                                                     \
  X(int, pthread_mutex_init, (pthread_mutex_t * lock, const pthread_mutexattr_t *kind), (lock, kind))        \
  X(int, sched_getaffinity, (pid_t pid, size_t bytes, cpu_set_t * set), (pid, bytes, set))                   \
  X(int, sched_setaffinity, (pid_t pid, size_t bytes, const cpu_set_t *set), (pid, bytes, set))              \
  X(int, statfs, (const char *path, struct statfs *system), (path, system))                                  \
  V(ws_classes_plan, (struct ws_pool_s * pool, const int32_t *cpu), (pool, cpu))                             \
  X(int, ws_guard_create, (struct ws_pool_s * pool, uint64_t patience_ns), (pool, patience_ns))              \
  X(const char *, ws_flight_copy, (uint64_t key), (key))                                                     \
  X(ws_decision_t, ws_decide, (const ws_snapshot_t *snapshot), (snapshot))                                   \
  X(bool, ws_may_spin, (const struct ws_pool_s *pool, uint32_t more), (pool, more))                          \
  X(int32_t, ws_os_cpu, (void), ())                                                                          \
  X(bool, ws_os_cpuset_has, (const ws_cpuset_t *set, uint32_t cpu), (set, cpu))                              \
  X(bool, ws_held_file_put, (int file, const void *data, size_t bytes, uint64_t at),                         \
    (file, data, bytes, at))                                                                                 \
  X(int, ws_os_futex_wait_until, (ws_au32_t * word, uint32_t expected, uint64_t deadline_ns),                \
    (word, expected, deadline_ns))                                                                           \
  V(ws_os_futex_wake, (ws_au32_t * word, uint32_t count), (word, count))                                     \
  X(void *, ws_os_map, (size_t bytes), (bytes))                                                              \
  X(ws_grants_t, ws_os_grants, (void), ())                                                                   \
  X(int, ws_os_nodes_of, (uint32_t count, void *const *address, int32_t *node), (count, address, node))      \
  X(uint64_t, ws_os_now_ns, (void), ())                                                                      \
  V(ws_os_prefer_node, (void *memory, size_t bytes, uint32_t node), (memory, bytes, node))                   \
  X(uint32_t, ws_os_priority, (int32_t tid), (tid))                                                          \
  X(uint32_t, ws_os_process_cpu_count, (void), ())                                                           \
  X(bool, ws_os_read, (const char *path, char *text, size_t bytes), (path, text, bytes))                     \
  X(int, ws_os_release_pages, (void *memory, size_t bytes), (memory, bytes))                                 \
  X(int, ws_os_thread_create,                                                                                \
    (pthread_t * thread, size_t stack_bytes, uint64_t patience_ns, void *(*func)(void *), void *arg),        \
    (thread, stack_bytes, patience_ns, func, arg))                                                           \
  X(uint64_t, ws_os_thread_cpu_ns, (int32_t tid), (tid))                                                     \
  X(uint64_t, ws_os_used_ns, (uint64_t * sleeps), (sleeps))                                                  \
  V(ws_os_unmap, (void *memory, size_t bytes), (memory, bytes))                                              \
  V(ws_os_yield, (void), ())                                                                                 \
  V(ws_pool_prewake_stats_sized, (const struct ws_pool_s *pool, ws_prewake_stats_t *stats, size_t bytes),    \
    (pool, stats, bytes))                                                                                    \
  X(int, ws_pool_push, (ws_pool_t * pool, ws_task_t task), (pool, task))                                     \
  X(ws_plan_t, ws_plan_choose, (ws_worker_t * worker, const ws_outlook_t *outlook), (worker, outlook))       \
  X(bool, ws_process_awake_leave, (uint32_t limit), (limit))                                                 \
  X(bool, ws_producer_on_cpu, (const struct ws_pool_s *pool, int32_t cpu), (pool, cpu))                      \
  V(ws_wide_plan, (ws_tasks_t * tasks, uint32_t workers), (tasks, workers))                                  \
  V(ws_relax, (void), ())                                                                                    \
  X(bool, ws_work_visible, (ws_tasks_t * tasks), (tasks))

/// In programs with fibers.
#define WS_SEAM_FIBER(X, V)                                                                                  \
  X(int, epoll_create1, (int flags), (flags))                                                                \
  X(int, mincore, (void *memory, size_t bytes, unsigned char *in_memory), (memory, bytes, in_memory))        \
  X(int, pthread_mutex_lock, (pthread_mutex_t * lock), (lock))                                               \
  X(int, pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *param),             \
    (thread, policy, param))                                                                                 \
  V(ws_blocking_begin, (void), ())                                                                           \
  V(ws_blocking_end, (void), ())                                                                             \
  X(bool, ws_lot_enter, (ws_waiter_t * waiter), (waiter))                                                    \
  V(ws_lot_move, (const void *from, const ws_aptr_t *to, uint32_t count, ws_grant_t grant),                  \
    (from, to, count, grant))                                                                                \
  V(ws_lot_unpark, (const void *address, uint32_t count, ws_woken_t on_woken, void *arg),                    \
    (address, count, on_woken, arg))                                                                         \
  V(ws_mutex_unlock, (ws_mutex_t * mutex), (mutex))                                                          \
  X(bool, ws_pages_close, (void *memory, size_t bytes), (memory, bytes))                                     \
  X(bool, ws_pages_open, (void *memory, size_t bytes), (memory, bytes))                                      \
  X(size_t, ws_os_page_bytes, (void), ())                                                                    \
  X(void *, ws_pages_reserve, (size_t bytes), (bytes))                                                       \
  X(size_t, ws_pages_signal_frame, (void), ())

#define WS_SEAM_REAL(result, name, parameters, arguments) result __real_##name parameters;
#define WS_SEAM_REAL_VOID(name, parameters, arguments) void __real_##name parameters;
WS_SEAM_CORE(WS_SEAM_REAL, WS_SEAM_REAL_VOID)
WS_SEAM_FIBER(WS_SEAM_REAL, WS_SEAM_REAL_VOID)

#define WS_SEAM_POINTER(result, name, parameters, arguments) result(*name) parameters;
#define WS_SEAM_POINTER_VOID(name, parameters, arguments) void(*name) parameters;
typedef struct {
  WS_SEAM_CORE(WS_SEAM_POINTER, WS_SEAM_POINTER_VOID)
  WS_SEAM_FIBER(WS_SEAM_POINTER, WS_SEAM_POINTER_VOID)
} ws_seam_t;

/// NULL = the real one.
extern ws_seam_t seam;
#define SEAM(name) seam.name = name##_seam

#endif
