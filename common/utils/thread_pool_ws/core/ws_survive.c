// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_survive.c
/// ws_survive.h.
#include "ws_survive.h"

#include "../sleep/ws_helper.h"
#include "../trace/ws_traced.h"
#include "ws_root.h"

static void remember(ws_frame_t *frame)
{
  const ws_self_t *self = ws_self();
  const ws_queue_t *queue = frame->here.queue;
  frame->outer = self->task;
  frame->laneless_in = self->laneless_in;
  frame->blocking = self->blocking;
  if (!queue)
    return;
  frame->root = ws_load_relaxed(&queue->root); // relaxed: only the owner writes it
  frame->mark = queue->mark;
  frame->depth = queue->depth;
}

/// The thread as it was before the body. @return whether it was in a task of this frame
static bool restore(const ws_frame_t *frame)
{
  ws_self_t *self = ws_self();
  ws_queue_t *queue = frame->here.queue;
  const bool in_task = self->task != frame->outer;
  self->task = frame->outer;
  self->laneless_in = frame->laneless_in;
  while (self->blocking > frame->blocking)
    ws_blocking_end();
  if (queue) {
    queue->mark = frame->mark;
    queue->depth = frame->depth;
    ws_root_leave(queue, frame->root);
  }
  return in_task;
}

// glibc's pthread_cleanup_push for C without exceptions, with the variable that it declares. While a handler
// runs, the list of handlers still begins with those of the tasks that are gone. A handler that runs further
// tasks must take the list back to its own place first, or the next end of the thread would jump into them.
#if defined(__GLIBC__) && !defined(__EXCEPTIONS)
#define KEEP_HANDLER(frame) ((frame)->handler = &__cancel_buf)
#define DROP_HANDLER(frame) __pthread_unregister_cancel((frame)->handler)
#else
#define KEEP_HANDLER(frame) ((void)(frame))
#define DROP_HANDLER(frame) ((void)(frame))
#endif

/// A cleanup handler.
static void repair(void *frame_arg)
{
  ws_frame_t *frame = frame_arg;
  DROP_HANDLER(frame);
  if (restore(frame)) {
    ws_traced_run_end(frame->pool, &frame->task);
    frame->settle(frame);
  }
  if (frame->helps)
    ws_helper_end(frame->pool, frame->here);
  frame->helps = false;
  if (frame->goes_on)
    ws_survive(frame);
}

#if defined(__GNUC__) && !defined(__clang__)
// The C library's own macro: gcc for 64-bit ARM takes its variables for clobbered. None of them is written
// between setjmp and longjmp.
#pragma GCC diagnostic ignored "-Wclobbered"
#endif
void ws_survive(ws_frame_t *frame)
{
  remember(frame);
  pthread_cleanup_push(repair, frame);
  KEEP_HANDLER(frame);
  frame->body(frame);
  pthread_cleanup_pop(0);
}
