// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_swap.c
/// ws_push.h: a fiber lets others run.
#include "ws_push.h"

#include "../classes/ws_classes.h"
#include "../pool/ws_lane.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"
#include "../trace/ws_traced.h"
#include "ws_round.h"
#include "ws_run.h"

/// @return whether the worker may go on with the oldest task of its queue at once. It is in its loop, and not
/// in a wait. Its queue is not empty, has room, and holds all that the loop would look at next. There are no
/// events and no abort, which are ws_run()'s.
static inline bool may_ride(const struct ws_pool_s *pool, ws_queue_t *queue)
{
  return queue->depth == 1 && ws_deque_size(&queue->deque) > 0 && ws_deque_has_room(&queue->deque, 1)
         && (ws_shared_count(&pool->tasks) | ws_hint_load(&pool->runs)) == 0;
}

/// The search that follows takes the oldest task; in a wait the oldest that the wait may run.
static inline void note_yield(ws_queue_t *queue, void (*func)(void *arg))
{
  queue->oldest |= WS_OLDEST_NEXT;
  queue->yielded = func;
  if (queue->wait)
    ws_round_cut(queue);
}

/// Queue the task. Take the oldest of the worker's queue in its place, if that has the same function: it is a
/// fiber, too. @return WS_SWAP_RIDE; WS_SWAP_RETURN = the oldest is no fiber, or all are stolen
static inline ws_swap_t ride(struct ws_pool_s *pool, ws_worker_t *worker, const ws_task_t *task,
                             ws_task_t *next)
{
  ws_queue_t *queue = &worker->queue;
  const ws_here_t here = {.queue = queue, .worker = worker};
  const ws_task_t before = {.func = task->func, .arg = task->arg}; // once it is pushed it may be gone
  ws_traced_push(pool, here, task, 1);
  ws_count_pushed(pool, queue, 1);
  ws_queue_push(queue, task, 1);
  ws_root_end(queue); // what follows does not belong to the task's group
  const bool took = ws_deque_take_oldest_of(&queue->deque, before.func, next);
  // [edge PARK_DEKKER fence] The pushed task before the loads of sleepers, as in announce_tasks() of
  // ws_push.c. The take ends with a CAS.
  took ? ws_fence_seq_cst_after_rmw() : ws_fence_seq_cst();
  if (WS_UNLIKELY(ws_has_sleepers(pool)))
    ws_post(pool, here, WS_KIND_NORMAL);
  if (!took) { // the oldest is a plain task
    note_yield(queue, before.func);
    return WS_SWAP_RETURN;
  }
  ws_count_run(pool, queue, 1); // the task's run has ended, and that of the next begins
  return WS_SWAP_RIDE;
}

static bool take_oldest(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, ws_task_t *task)
{
  return kind == WS_KIND_NORMAL ? ws_queue_take_oldest(here.queue, task)
                                : ws_shared_take(&pool->tasks, kind, NULL, task);
}

/// The queue is full and cannot grow. The oldest task there makes room, and runs: here, or if it is a fiber
/// in the place of @p task, as @p next.
/// @return WS_SWAP_NOT = another thread has taken the oldest, and there is no room
static ws_swap_t take_place(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task, ws_task_t *next)
{
  const ws_kind_t kind = ws_classes_kind(pool, task);
  bool made_room = take_oldest(pool, here, kind, next);
  while (!ws_push_again(pool, task, false)) {
    if (!made_room)
      return WS_SWAP_NOT; // another thread has taken the oldest task, and memory has not come back
    ws_run_late(pool, here, next); // another thread has used the room
    made_room = take_oldest(pool, here, kind, next);
  }
  if (!made_room)
    return WS_SWAP_RETURN;
  if (next->func == task->func && ws_hint_load(&pool->runs) == WS_RUNS_PLAINLY) {
    ws_count_run(pool, here.queue, 1);
    return WS_SWAP_RIDE;
  }
  ws_run_late(pool, here, next);
  return WS_SWAP_RETURN;
}

void ws_swap_none(ws_here_t here)
{
  if (here.queue)
    ws_round_stop(here.queue);
}

/// Queue the task behind the others, and have the thread return to its loop. If there is no room,
/// take_place() makes some; for a thread without a queue the result is WS_SWAP_NOT then.
WS_SELDOM static ws_swap_t queue_again(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task,
                                       ws_task_t *next)
{
  const ws_task_t copy = *task; // once it is pushed it may be gone
  if (!here.worker)
    ws_swap_none(here);
  if (here.queue)
    note_yield(here.queue, copy.func);
  if (WS_LIKELY(ws_push_again(pool, &copy, false)))
    return WS_SWAP_RETURN;
  return here.queue ? take_place(pool, here, &copy, next) : WS_SWAP_NOT;
}

ws_swap_t ws_swap(struct ws_pool_s *pool, ws_worker_t *worker, const ws_task_t *task, ws_task_t *next)
{
  if (WS_UNLIKELY(!worker))
    return queue_again(pool, ws_here(pool), task, next);
  ws_queue_t *queue = &worker->queue;
  const bool over = ws_round_stop(queue);
  if (WS_LIKELY(may_ride(pool, queue)) && !(WS_UNLIKELY(over) && ws_tick_ahead(pool, queue)))
    return ride(pool, worker, task, next);
  return queue_again(pool, (ws_here_t){.queue = queue, .worker = worker}, task, next);
}
