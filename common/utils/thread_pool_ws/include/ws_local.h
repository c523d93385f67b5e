// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_local.h
/// Variables of which each fiber has a value of its own, as a thread has of a thread-local variable. Outside
/// fibers, and in a plain task, the value is the thread's. In the library thread_pool_ws_fiber.
///
/// @code
///   static const ws_local_t request = {.end = free};
///   ws_local_set(&request, strdup(text));   // in a fiber
///   ... ws_local_get(&request) ...          // the same string, whatever thread the fiber is on
/// @endcode
///
/// @threads all functions: any; not from signal handlers
#ifndef WS_LOCAL_H
#define WS_LOCAL_H

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// A variable. Must live, at one address, until the fibers and threads that have set it have ended.
typedef struct {
  /// Called with a value that is not NULL at the end of its fiber, inside the fiber, or at the end of its
  /// thread, except the main thread. It must return, and may use other variables. NULL = nothing is called.
  void (*end)(void *value);
} ws_local_t;

/// @return the caller's value; NULL = it has set none
/// @progress  wait-free: looks at the variables that the fiber or thread has set
void *ws_local_get(const ws_local_t *local);

/// @brief Set the caller's value. The value from before is dropped: end() is not called for it.
/// @return 0; -EINVAL: @p local is NULL; -ENOMEM: the value from before stays
/// @progress  calls malloc for the first value of a variable
int ws_local_set(const ws_local_t *local, void *value);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
