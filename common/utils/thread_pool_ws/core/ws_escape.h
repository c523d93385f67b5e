// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_escape.h
/// A task must return. A C++ exception that leaves a task, or a task that ends its thread (pthread_exit),
/// ends the process: in the frames of the library it would skip what these have to put back.
///
/// Method         Tables only. The function that calls tasks names a personality routine. For an exception
///                the unwinder calls it before it unwinds anything: the process ends with the whole stack of
///                the throw. For the end of the thread it calls it when the frames of the task are gone.
/// Cancellation   A thread that runs tasks has it disabled: a worker for its life, another thread for its
///                wait, its stop, its loop, its cancel that waits, or a push that runs a task. A request acts
///                after that, or in the sleep of a wait for an event, outside tasks and other such calls:
///                there, and only there, a thread may end.
/// Others         So it is with each call that runs functions of the program while what other threads use
///                lies on its stack: waits, loops, scans. ws_must_return() calls one such function.
#ifndef WS_ESCAPE_H
#define WS_ESCAPE_H

#include <pthread.h>
#include <unwind.h>

/// Called by the unwinder when an exception, or the end of the thread, comes to a function with
/// WS_NOTHING_ESCAPES(): ends the process with a message.
/// @return only at the end of a thread that was outside tasks, in the sleep of a wait for an event: it ends
__attribute__((visibility("hidden"))) _Unwind_Reason_Code
ws_escape_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                      struct _Unwind_Exception *exception, struct _Unwind_Context *context);

/// In a function: nothing leaves it but by return. 0x1b: the routine's address is relative, in four bytes.
/// The routine is an operand, so that link-time optimisation sees that it is used.
#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && defined(__aarch64__)
#define WS_NOTHING_ESCAPES() __asm__ volatile(".cfi_personality 0x1b, %c0" ::"S"(ws_escape_personality))
#elif defined(__GCC_HAVE_DWARF2_CFI_ASM) && defined(__x86_64__)
#define WS_NOTHING_ESCAPES() __asm__ volatile(".cfi_personality 0x1b, %c0" ::"s"(ws_escape_personality))
#else // an exception that leaves a task passes, and the end of the thread
#define WS_NOTHING_ESCAPES() ((void)0)
#endif

/// @brief Disable cancellation of the calling thread. In a fiber, which may move, it is disabled before.
/// @return what was, for ws_cancel_restore()
static inline int ws_cancel_disable(void)
{
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static inline void ws_cancel_restore(int before)
{
  int unused;
  pthread_setcancelstate(before, &unused);
}

#endif
