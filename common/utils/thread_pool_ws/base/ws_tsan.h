// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tsan.h
/// For programs that are built with ThreadSanitizer while this library is not, as users of a package are. The
/// sanitizer does not see the library's atomic operations, and would report each task that reads what its
/// pusher wrote. So the library names the orders that its functions promise, by the calls below. They reach
/// the sanitizer only if the process has it. Otherwise a task costs nothing more (core/ws_ordered.h), and
/// each other call one predicted branch.
///
/// A library that is built with the sanitizer does nothing here: the sanitizer sees, and checks, the orders
/// themselves. Fibers are not covered: the sanitizer must know of each switch (fiber/ws_switch.h).
#ifndef WS_TSAN_H
#define WS_TSAN_H

#include "ws_atomic.h"
#include "ws_base.h"

#ifdef WS_TSAN
static inline bool ws_tsan_sees(void)
{
  return false;
}
static inline void ws_tsan_release(const void *object)
{
  (void)object;
}
static inline void ws_tsan_acquire(const void *object)
{
  (void)object;
}
static inline void ws_tsan_ignore_begin(void) {}
static inline void ws_tsan_ignore_end(void) {}
#else
// All of them are in the sanitizer's library, or none.
void __tsan_release(void *object) __attribute__((weak));
void __tsan_acquire(void *object) __attribute__((weak));
void __tsan_ignore_thread_begin(void) __attribute__((weak));
void __tsan_ignore_thread_end(void) __attribute__((weak));

/// @return whether the process has the sanitizer
static inline bool ws_tsan_sees(void)
{
  return WS_UNLIKELY(__tsan_release != NULL);
}

/// @brief What the thread has done is seen by those that call ws_tsan_acquire() for @p object later.
static inline void ws_tsan_release(const void *object)
{
  if (ws_tsan_sees())
    __tsan_release((void *)(uintptr_t)object);
}

static inline void ws_tsan_acquire(const void *object)
{
  if (ws_tsan_sees())
    __tsan_acquire((void *)(uintptr_t)object);
}

/// @brief Have the sanitizer ignore what the thread reads and writes until ws_tsan_ignore_end(): the
/// library's own data, by functions of the C library, whose calls it sees.
static inline void ws_tsan_ignore_begin(void)
{
  if (ws_tsan_sees())
    __tsan_ignore_thread_begin();
}

static inline void ws_tsan_ignore_end(void)
{
  if (ws_tsan_sees())
    __tsan_ignore_thread_end();
}
#endif

/// @return an address that stands for three words, the same each time. Two triples may share one: then the
/// sanitizer takes an order for granted that is not promised, and may miss a race
const void *ws_tsan_place(uintptr_t first, uintptr_t second, uintptr_t third);

#endif
