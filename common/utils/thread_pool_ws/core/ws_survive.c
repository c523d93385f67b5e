// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_survive.c
/// ws_survive.h.
#include "ws_survive.h"

#include "../sleep/ws_helper.h"
#include "../trace/ws_traced.h"
#include "ws_root.h"

/// The thread as it was before the body.
typedef struct {
  ws_frame_t *frame;
  const ws_task_t *outer;
  uint64_t laneless_in;
  ws_group_t *root;
  ws_mark_t *mark;
  uint32_t depth, blocking;
} before_t;

static void remember(before_t *before)
{
  const ws_self_t *self = ws_self();
  const ws_queue_t *queue = before->frame->here.queue;
  before->outer = self->task;
  before->laneless_in = self->laneless_in;
  before->blocking = self->blocking;
  if (!queue)
    return;
  before->root = ws_load_relaxed(&queue->root); // relaxed: only the owner writes it
  before->mark = queue->mark;
  before->depth = queue->depth;
}

/// @return whether the thread was in a task of the frame
static bool restore(const before_t *before)
{
  ws_self_t *self = ws_self();
  ws_queue_t *queue = before->frame->here.queue;
  const bool in_task = self->task != before->outer;
  self->task = before->outer;
  self->laneless_in = before->laneless_in;
  while (self->blocking > before->blocking)
    ws_blocking_end();
  if (queue) {
    queue->mark = before->mark;
    queue->depth = before->depth;
    ws_root_leave(queue, before->root);
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
static void repair(void *before_arg)
{
  before_t *before = before_arg;
  ws_frame_t *frame = before->frame;
  DROP_HANDLER(frame);
  if (restore(before)) {
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
  before_t before = {.frame = frame};
  remember(&before);
  pthread_cleanup_push(repair, &before);
  KEEP_HANDLER(frame); // not in before: a local variable that changes after setjmp is lost
  frame->body(frame);
  pthread_cleanup_pop(0);
}
