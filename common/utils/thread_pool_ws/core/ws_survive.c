// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_survive.c
/// ws_survive.h.
#ifdef __EXCEPTIONS
#undef __EXCEPTIONS // pthread.h then declares the handlers of C without exceptions, which this file needs
#endif
#include "ws_survive.h"

#include <setjmp.h>
#ifdef WS_ASAN
#include <sanitizer/asan_interface.h>
#endif

#include "../pool/ws_warn.h"
#include "../sleep/ws_budget.h"
#include "../trace/ws_traced.h"
#include "ws_root.h"

/// The thread as it was before the body.
typedef struct {
  ws_frame_t *frame;
  const ws_task_t *outer;
  const ws_laneless_t *laneless;
  ws_group_t *root;
  ws_mark_t *mark;
  uint32_t depth, blocking;
} before_t;

static void remember(before_t *before)
{
  const ws_self_t *self = ws_self();
  const ws_queue_t *queue = before->frame->here.queue;
  before->outer = self->task;
  before->laneless = self->laneless;
  before->blocking = self->blocking;
  if (!queue)
    return;
  before->root = ws_own_load(&queue->root);
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
  self->laneless = before->laneless;
  while (self->blocking > before->blocking)
    ws_blocking_end();
  if (queue) {
    queue->mark = before->mark;
    queue->depth = before->depth;
    ws_root_leave(queue, before->root);
  }
  return in_task;
}

/// A task has ended the thread, and the stack above ws_survive() is gone. Correct what the thread counts, and
/// complete the task.
static void repair(const before_t *before)
{
  ws_frame_t *frame = before->frame;
  if (restore(before)) {
    ws_traced_run_end(frame->pool, &frame->task);
    frame->thread_ended(frame);
  }
  if (frame->helps)
    ws_helper_end(frame->pool, frame->here);
  frame->helps = false;
}

bool ws_is_in_fiber(void)
{
  const ws_hooks_t *hooks = ws_process_hooks();
  return hooks && hooks->is_in_fiber();
}

/// The end of the thread goes no further than to a fiber, whose stack ends below this frame.
static bool ends_here(const ws_frame_t *frame)
{
  if (frame->stays)
    return true;
  if (!ws_is_in_fiber())
    return false;
  if (ws_add_relaxed(&frame->pool->ended_threads, 1) == 0) // relaxed: one of them warns
    ws_warn(&frame->pool->settings,
            "a task ended its thread (pthread_exit, or cancelled) inside a fiber's wait or push; the fiber"
            " continues");
  return true;
}

#ifdef __GLIBC__
// glibc's pthread_cleanup_push() for C, by its parts: unlike a handler, this function can return to its
// caller, and call the body again at the same depth of the stack, however many tasks end the thread.
#if __GLIBC_PREREQ(2, 34)
#define SET_JUMP(buffer) __sigsetjmp_cancel((buffer)->__cancel_jmp_buf, 0)
#else
#define SET_JUMP(buffer) __sigsetjmp((struct __jmp_buf_tag *)(void *)(buffer)->__cancel_jmp_buf, 0)
#endif

/// AddressSanitizer's marks of the frames that are gone would be taken for those of frames to come.
static inline void forget_frames(void)
{
#ifdef WS_ASAN
  enum { BYTES = 65536 };
  __asan_unpoison_memory_region((char *)__builtin_frame_address(0) - BYTES, BYTES);
#endif
}

#if defined(__GNUC__) && !defined(__clang__)
// gcc for 64-bit ARM takes variables for clobbered. None of them is written after SET_JUMP().
#pragma GCC diagnostic ignored "-Wclobbered"
#endif
static void run(ws_frame_t *frame, __pthread_unwind_buf_t *buffer)
{
  WS_NO_EXCEPTION_LEAVES();
  __pthread_register_cancel(buffer);
  frame->body(frame);
  __pthread_unregister_cancel(buffer);
}

void ws_survive(ws_frame_t *frame)
{
  before_t before = {.frame = frame}; // is not written after SET_JUMP()
  __pthread_unwind_buf_t buffer;
  remember(&before);
  if (WS_LIKELY(SET_JUMP(&buffer) == 0)) {
    run(frame, &buffer);
    return;
  }
  forget_frames();
  // The C library's list still begins with the handlers of the tasks that are gone. The next end of the
  // thread would jump into them.
  __pthread_unregister_cancel(&buffer);
  repair(&before);
  if (frame->goes_on)
    run(frame, &buffer); // a task that ends the thread leads to SET_JUMP() again
  if (!ends_here(frame))
    __pthread_unwind_next(&buffer);
}
#else
/// A cleanup handler. It cannot return to the caller of ws_survive(): each task that ends its thread takes
/// some stack, and a fiber does not continue.
static void go_on(void *before)
{
  ws_frame_t *frame = ((before_t *)before)->frame;
  repair(before);
  if (frame->goes_on)
    ws_survive(frame);
}

void ws_survive(ws_frame_t *frame)
{
  before_t before = {.frame = frame};
  remember(&before);
  WS_NO_EXCEPTION_LEAVES();
  pthread_cleanup_push(go_on, &before);
  frame->body(frame);
  pthread_cleanup_pop(0);
}
#endif
