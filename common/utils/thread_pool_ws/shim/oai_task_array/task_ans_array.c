// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans_array.c
/// OAI's answers of shape B1: an array of flags, which the pool first sees at the join. Tasks that a thread
/// pushes carry one weak tag, and another one inside each of its joins. A worker that joins inside a task
/// runs such tasks, because it might be the only one that can; other threads leave them to the workers. The
/// tag outlives a join: a function that the task calls may push and join between the task's own pushes and
/// their join.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "assertions.h"
#include "common/utils/threadPool/task_ans.h"
#include "tpool_task.h"
#include "ws_pool.h"

enum { PENDING, DONE, SLEEPS };

/// The calling thread's pushes, without those of tasks that ran inside its joins.
typedef struct {
  uintptr_t tag; ///< a multiple of 4, unique in the process; 0 = nothing pushed yet
  ws_tpool_t *tpool; ///< where it pushed last
} pushed_t;

static _Thread_local pushed_t pushed;

static uintptr_t tags;

ws_group_t *ws_tpool_tag(ws_tpool_t *tpool, void (*func)(void *))
{
  (void)func;
  if (pushed.tag == 0)
    pushed.tag = __atomic_add_fetch(&tags, 4, __ATOMIC_RELAXED); // relaxed: only has to be unique
  pushed.tpool = tpool;
  return ws_group_weak_tag((const void *)pushed.tag);
}

void completed_task_ans(task_ans_t *task)
{
  // [edge TASK_FLAG acq_rel] what the task wrote. Nothing of the answer is touched after it but its address
  const uint32_t before = __atomic_exchange_n(&task->status, DONE, __ATOMIC_ACQ_REL);
  AssertFatal(before != DONE, "thread_pool_ws: a task has completed its answer twice\n");
  if (before == SLEEPS)
    syscall(SYS_futex, &task->status, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/// Answers of a join that are not known to be done: the first @c len.
typedef struct {
  task_ans_t *answers;
  size_t len;
} rest_t;

static bool is_done(const task_ans_t *answer)
{
  return __atomic_load_n(&answer->status, __ATOMIC_ACQUIRE) == DONE; // [edge TASK_FLAG acquire]
}

static bool all_done(void *rest_arg)
{
  rest_t *rest = rest_arg;
  while (rest->len > 0 && is_done(&rest->answers[rest->len - 1]))
    rest->len--;
  return rest->len == 0;
}

/// Sleep until one answer more is done.
static void sleep_for_last(void *rest_arg)
{
  const rest_t *rest = rest_arg;
  if (rest->len == 0)
    return;
  uint32_t *status = &rest->answers[rest->len - 1].status;
  uint32_t seen = PENDING;
  // [edge TASK_FLAG acquire]
  if (!__atomic_compare_exchange_n(status, &seen, SLEEPS, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
      && seen == DONE)
    return;
  syscall(SYS_futex, status, FUTEX_WAIT_PRIVATE, SLEEPS, NULL, NULL, 0);
}

void join_task_ans(task_ans_t *arr, size_t len)
{
  const pushed_t before = pushed;
  ws_tpool_t *tpool = before.tpool;
  const ws_group_t *tag = ws_group_tag((const void *)before.tag);
  pushed = (pushed_t){0}; // of tasks that run inside this join
  rest_t rest = {.answers = arr, .len = len};
  const ws_event_t event = {.ready = all_done, .sleep = sleep_for_last, .arg = &rest};
  if (!tpool) {
    ws_pool_await(NULL, tag, &event);
    return;
  }
  ws_pool_await(ws_tpool_enter(tpool) ? tpool->pool : NULL, tag, &event);
  ws_tpool_leave(tpool);
  pushed = before; // a caller of the caller may have pushed before and join later
}
