// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_switch.h
/// What sanitizers and Valgrind have to learn of stacks and switches. Without them these functions are empty.
#ifndef WS_SWITCH_H
#define WS_SWITCH_H

#include "ws_fiber_process.h" // IWYU pragma: export

#ifdef WS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WS_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__has_include) && !defined(WS_ASAN) && !defined(WS_TSAN)
#if __has_include(<valgrind/valgrind.h>)
#define WS_VALGRIND 1
#include <valgrind/valgrind.h>
#endif
#endif

/// The thread begins to run fibers on top of its present stack.
static inline void ws_switch_ride(ws_rider_t *rider)
{
  (void)rider;
#ifdef WS_TSAN
  rider->tsan = __tsan_get_current_fiber();
#endif
}

/// The fiber will be entered for the first time, on its stack from its lowest byte to @p top.
static inline void ws_switch_begin(ws_fiber_t *fiber, char *top)
{
  (void)fiber, (void)top;
#ifdef WS_TSAN
  fiber->tsan = __tsan_create_fiber(0);
  __tsan_set_fiber_name(fiber->tsan, fiber->name);
#endif
#ifdef WS_VALGRIND
  fiber->valgrind = VALGRIND_STACK_REGISTER(fiber->stack.low, top);
#endif
}

/// The fiber has been left for the last time.
static inline void ws_switch_end(ws_fiber_t *fiber)
{
  (void)fiber;
#ifdef WS_TSAN
  __tsan_destroy_fiber(fiber->tsan);
#endif
#ifdef WS_VALGRIND
  VALGRIND_STACK_DEREGISTER(fiber->valgrind);
#endif
}

// On the thread's own stack, before and after the fiber runs.

static inline void ws_switch_enter(ws_rider_t *rider)
{
  (void)rider;
#ifdef WS_ASAN
  const ws_fiber_t *fiber = rider->fiber;
  __sanitizer_start_switch_fiber(&rider->asan_fake, fiber->stack.low, ws_stack_bytes(&fiber->stack));
#endif
#ifdef WS_TSAN
  __tsan_switch_to_fiber(rider->fiber->tsan, 0);
#endif
}

static inline void ws_switch_returned(ws_rider_t *rider)
{
  (void)rider;
#ifdef WS_ASAN
  __sanitizer_finish_switch_fiber(rider->asan_fake, NULL, NULL);
#endif
}

// On the fiber's stack, before it is left, and after it has been entered.

static inline void ws_switch_leave(ws_fiber_t *fiber)
{
  (void)fiber;
#if defined(WS_ASAN) || defined(WS_TSAN)
  const ws_rider_t *rider = ws_fiber_thread()->rider;
#endif
#ifdef WS_ASAN
  void **fake = fiber->wants == WS_WANTS_END ? NULL : &fiber->asan_fake;
  __sanitizer_start_switch_fiber(fake, rider->asan_bottom, rider->asan_bytes);
#endif
#ifdef WS_TSAN
  __tsan_switch_to_fiber(rider->tsan, 0);
#endif
}

static inline void ws_switch_entered(ws_fiber_t *fiber, ws_rider_t *rider)
{
  (void)fiber, (void)rider;
#ifdef WS_ASAN
  __sanitizer_finish_switch_fiber(fiber->asan_fake, &rider->asan_bottom, &rider->asan_bytes);
#endif
}

/// The stack is free: what its last fiber has left there may be overwritten.
static inline void ws_switch_forget(char *low, size_t bytes)
{
  (void)low, (void)bytes;
#ifdef WS_ASAN
  __asan_unpoison_memory_region(low, bytes);
#endif
}

#endif
