// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_survive.h
/// Life of a task, an accident: the task ends the thread that runs it (pthread_exit), or the thread is
/// cancelled in it. The task counts as run, its group is completed, and the pool's counts of the thread are
/// corrected. Then a worker continues, and a stop continues. A wait for a group continues until the group is
/// done, because the group may lie on the stack that is about to be freed. Only after that the thread ends.
///
/// Method    A thread that runs tasks keeps the present task in a frame and registers a cleanup handler, once
///           for all tasks of a wait or a worker. The handler is called while the stack above the frame is
///           whole.
/// Nesting   Frames of nested waits are repaired from the innermost to the outermost, as they unwind.
#ifndef WS_SURVIVE_H
#define WS_SURVIVE_H

#include "../pool/ws_process.h"
#include "../pool/ws_types.h"

typedef struct ws_frame_s ws_frame_t;
struct ws_frame_s {
  // Set by the caller.
  struct ws_pool_s *pool;
  ws_here_t here;
  void (*body)(ws_frame_t *frame); ///< runs tasks, each from the field below; called again to go on
  void (*settle)(ws_frame_t *frame); ///< the task below has ended its thread: complete and count it
  bool goes_on; ///< the body is called again after that
  // Used by body and settle.
  ws_task_t task; ///< that runs, the innermost of this frame
  bool helps; ///< the body has begun a helper's place and not ended it
  // Used by ws_survive.c.
  void *handler; ///< the C library's record of the cleanup handler
};

/// @brief Run the body of @p frame, to its end if it goes on.
void ws_survive(ws_frame_t *frame);

#endif
