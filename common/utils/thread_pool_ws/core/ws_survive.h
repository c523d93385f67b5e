// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_survive.h
/// Life of a task, an accident: the task ends the thread that runs it (pthread_exit), or the thread is
/// cancelled in it. The task counts as run, its group is completed, and the pool's counts of the thread are
/// corrected. Then a worker continues, and a stop continues. A wait for a group continues until the group is
/// done, because the group may lie on the stack that is about to be freed. Only after that the thread ends.
/// If the task ran on the stack of a fiber, which waits for another pool or pushes to it, the fiber
/// continues, and the thread does not end.
///
/// Method    A thread that runs tasks keeps the present task in a frame and registers with the C library
///           where the end of the thread continues: in ws_survive(), once for all tasks of a wait or a
///           worker. The stack of the tasks has been unwound then.
/// Nesting   Frames of nested waits are repaired from the innermost to the outermost, as they unwind.
#ifndef WS_SURVIVE_H
#define WS_SURVIVE_H

#include <unwind.h>

#include "../pool/ws_process.h"
#include "../pool/ws_types.h"

typedef struct ws_frame_s ws_frame_t;
struct ws_frame_s {
  // Set by the caller.
  struct ws_pool_s *pool;
  ws_here_t here;
  void (*body)(ws_frame_t *frame); ///< runs tasks, each from the field below; called again to go on
  void (*thread_ended)(ws_frame_t *frame); ///< the task below has ended its thread: complete and count it
  bool goes_on; ///< the body is called again after that
  bool stays; ///< the thread does not end after all of it
  // Used by body and thread_ended.
  ws_task_t task; ///< that runs, the innermost of this frame
  bool helps; ///< the body has begun a helper's place and not ended it
};

/// @brief Run the body of @p frame, to its end if it goes on.
void ws_survive(ws_frame_t *frame);

/// @return whether a fiber calls: its code, not that of a task that runs on its stack
bool ws_is_in_fiber(void);

// A C++ exception that leaves a task ends the process. In the frames of the library it would skip what these
// have to put back, on its way to a handler of the thread that waits.
//
// Method    Tables only. The function below which tasks run names a personality routine. The unwinder calls
//           the routine before it unwinds anything: the process ends with the whole stack of the throw.

/// Called by the unwinder for each exception that comes to such a function, and for each end of the thread.
__attribute__((visibility("hidden"))) _Unwind_Reason_Code
ws_escape_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                      struct _Unwind_Exception *exception, struct _Unwind_Context *context);

#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && (defined(__x86_64__) || defined(__aarch64__))
/// In a function: no exception leaves it. 0x1b: the routine's address is relative, in four bytes. The routine
/// is an operand, so that link-time optimisation sees that it is used.
#ifdef __aarch64__
#define WS_NO_EXCEPTION_LEAVES() __asm__ volatile(".cfi_personality 0x1b, %c0" ::"S"(ws_escape_personality))
#else
#define WS_NO_EXCEPTION_LEAVES() __asm__ volatile(".cfi_personality 0x1b, %c0" ::"s"(ws_escape_personality))
#endif
#else // an exception that leaves a task passes
#define WS_NO_EXCEPTION_LEAVES() ((void)0)
#endif

#endif
