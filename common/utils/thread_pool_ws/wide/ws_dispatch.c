// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dispatch.c
/// ws_wide.h: the dispatcher, for workers that run out of work at the same time and find tasks in one lane.
/// It is a source of the worker's loop, before it steals.
///
/// Why        Each steal takes the cache line of the deque's top from another thief, twice. If 40 workers
///            steal from one lane, a steal takes 0.9 us, one after the other. One dispatcher keeps that line
///            most of the time, and hands the oldest tasks to the other workers, which wait in their inboxes.
/// Roles      A worker that finds tasks in a lane without a dispatcher becomes its dispatcher. A worker that
///            finds a lane with a dispatcher waits. The dispatcher hands out tasks as long as workers wait,
///            for any dispatcher, and then takes a task for itself.
/// Order      Tasks of a lane begin in the order in which they were pushed, as without a dispatcher: a task
///            is handed only to a worker that waits (docs/decisions/018). If several of the workers leave
///            while they are handed tasks, the dispatcher puts these tasks into its own queue, and younger
///            tasks may begin first.
/// Bounds     A worker waits for WAIT_NS_MAX at most, and then dispatches itself. So no worker depends on a
///            dispatcher that is preempted. The guard finds a task that was handed to a worker without a
///            CPU (ws_inbox.h). A dispatcher hands out HANDED_MAX tasks at most before it runs one. If it
///            is preempted, TAKEN_MAX tasks at most wait for it.
/// Not used   While tasks lie in queues that all threads share, for tiny tasks, and by workers with tasks of
///            their own.
/// Domains    Workers that wait set their bits in the mask of their domain, so that they do not all contend
///            for one line.
#include "../core/ws_run.h"
#include "../core/ws_steal.h"
#include "../os/ws_os.h"
#include "../prewake/ws_prewake.h"
#include "../sleep/ws_idle.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"
#include "../tasks/ws_summary.h"
#include "../trace/ws_traced.h"
#include "ws_wide.h"

/// Tasks that a dispatcher hands out, at most, before it runs one.
#define HANDED_MAX 64u
/// Of these, that it takes before it hands them out.
#define TAKEN_MAX 4u
/// Workers that it reserves at once.
#define AT_ONCE_MAX 16u
/// Time that a worker waits for dispatchers, at most.
#define WAIT_NS_MAX 64000u
/// Pauses after which it completes what it has run: a worker that gets its next task before need not contend
/// with the others for the group's word.
#define HOLD_PAUSES 64u
/// Pauses between two looks at the clock, and whether there is a dispatcher.
#define LOOK_PAUSES 8u

/// @return whether a worker dispatches the tasks of @p lane
static bool is_dispatched(const ws_queue_t *lane)
{
  return ws_hint_load(&lane->dispatched) != 0;
}

/// @param at  in and out: the domain to look at first
/// @return up to @p most workers that wait, of one domain; no bits = none waits
static ws_reserved_t reserve_workers(struct ws_pool_s *pool, uint32_t most, uint32_t *at)
{
  ws_reserved_t reserved = {0};
  ws_prefetch(&pool->tasks.domain[*at].mask);
  ws_prefetch(&pool->tasks.domain[(*at + 1) % pool->tasks.domains].mask);
  for (uint32_t i = 0; i < pool->tasks.domains && reserved.bits == 0; i++) {
    reserved = ws_inbox_reserve(&pool->tasks, pool->tasks.domain[*at].mask, most);
    *at = (*at + 1) % pool->tasks.domains;
  }
  return reserved;
}

/// Take the oldest tasks, all before the first is given: a steal would wait for the caller's stores to arrive
/// at the worker before. @return how many
static uint32_t take_some(ws_here_t here, ws_queue_t *lane, uint32_t most, ws_task_t *tasks)
{
  uint32_t taken = 0;
  while (taken < most && taken < TAKEN_MAX
         && ws_deque_steal_one(&lane->deque, &here.queue->thief.memo, &tasks[taken])) {
    if (here.worker->due.group != tasks[taken].group)
      ws_complete_due(here.worker); // its wait need not wait for these
    taken++;
  }
  return taken;
}

/// Hand tasks to the reserved workers, and decline the rest of these. @return whether the caller has a task:
/// a worker did not wait any more. If there were several, the others' tasks are in the caller's own queue
static bool hand_out(struct ws_pool_s *pool, ws_here_t here, ws_queue_t *lane, ws_reserved_t *reserved,
                     ws_task_t *task)
{
  ws_task_t tasks[TAKEN_MAX];
  uint32_t kept = 0, taken = TAKEN_MAX;
  ws_need_guard(pool); // before, too: the caller may be preempted after a fill
  while (reserved->bits != 0 && kept == 0 && taken == TAKEN_MAX) {
    taken = take_some(here, lane, (uint32_t)__builtin_popcountll(reserved->bits), tasks);
    for (uint32_t i = 0; i < taken; i++)
      if (WS_UNLIKELY(!ws_inbox_give(&pool->tasks, here.queue, reserved, &tasks[i])))
        tasks[kept++] = tasks[i];
  }
  ws_need_guard(pool); // a worker may get no CPU
  ws_inbox_decline(&pool->tasks, here.queue, reserved);
  if (kept > 0)
    *task = tasks[0];
  if (WS_UNLIKELY(kept > 1)) {
    ws_root_mix(here.queue, NULL);
    ws_queue_push(here.queue, tasks + 1, kept - 1);
    ws_fill_slot(pool, here);
  }
  return kept > 0;
}

/// @return whether other tasks may have to come first: in a pool-wide queue, or stuck in an inbox
static bool must_stop(const struct ws_pool_s *pool)
{
  return ws_shared_count(&pool->tasks) > 0 || ws_hint_load(&pool->tasks.stuck) > 0;
}

/// @return how many tasks of the lane its dispatcher wants to hand out next; the lane's last one is its own
/// @param left  as many at most
static uint32_t wanted(const ws_queue_t *lane, uint32_t left)
{
  const uint64_t size = ws_deque_size(&lane->deque);
  const uint32_t most = left < AT_ONCE_MAX ? left : AT_ONCE_MAX;
  return size == 0 ? 0 : size <= most ? (uint32_t)size - 1 : most;
}

/// Hand out tasks of a lane as long as workers wait, HANDED_MAX at most, then take one for the caller, its
/// dispatcher. @return false = none was left, or others were quicker
static bool dispatch(struct ws_pool_s *pool, ws_here_t here, ws_queue_t *lane, ws_task_t *task)
{
  uint32_t at = ws_wide_domain(here.worker), left = HANDED_MAX;
  while (left > 0 && !must_stop(pool) && ws_deque_has_room(&here.queue->deque, TAKEN_MAX)) {
    const uint32_t most = wanted(lane, left);
    if (most == 0)
      break;
    ws_deque_prefetch(&lane->deque, most); // they come while the caller reserves
    ws_reserved_t reserved = reserve_workers(pool, most, &at);
    if (reserved.bits == 0)
      break;
    left -= (uint32_t)__builtin_popcountll(reserved.bits);
    here.queue->thief.memo.deque = NULL; // others take what it remembers
    if (hand_out(pool, here, lane, &reserved, task))
      return true;
  }
  return ws_deque_steal_one(&lane->deque, &here.queue->thief.memo, task);
}

/// The caller waits in its domain until @p until_ns, or until @p lane has no dispatcher or one has no task
/// for the caller. @return whether a dispatcher, of any lane, has handed over a task
static bool await_dispatcher(struct ws_pool_s *pool, ws_worker_t *worker, const ws_queue_t *lane,
                             uint64_t until_ns, ws_task_t *task)
{
  ws_inbox_t *inbox = &worker->inbox;
  ws_inbox_open(inbox, pool->tasks.domain[ws_wide_domain(worker)].mask);
  for (uint32_t pause = 1; !ws_inbox_is(inbox, WS_INBOX_FULL); pause++) {
    if (pause == HOLD_PAUSES)
      ws_complete_due(worker); // it takes as long as the dispatcher does
    if (pause % LOOK_PAUSES == 0
        && (!is_dispatched(lane) || ws_inbox_is(inbox, WS_INBOX_AWAY) || ws_os_now_ns() >= until_ns))
      break;
    ws_pause();
  }
  if (!ws_inbox_shut(&pool->tasks, inbox))
    return false;
  ws_inbox_empty(inbox, task);
  return true;
}

/// Forget the lane if it is empty.
static void forget(struct ws_pool_s *pool, uint32_t lane)
{
  ws_au32_t *dispatching = &pool->tasks.dispatching;
  if (ws_deque_size(&pool->tasks.queue[lane]->deque) == 0 && ws_hint_load(dispatching) == lane + 1)
    ws_hint_store(dispatching, 0);
}

/// Take a task of the lane, from a dispatcher, or as its dispatcher: after WAIT_NS_MAX beside another one.
/// @return false = the lane is empty, or others were quicker
static bool take_of_lane(const ws_search_t *search, uint32_t index, ws_task_t *task)
{
  struct ws_pool_s *pool = search->pool;
  ws_worker_t *worker = search->here.worker;
  ws_queue_t *lane = pool->tasks.queue[index];
  const uint64_t came_ns = ws_os_now_ns();
  // [edge DISPATCHED acq_rel] of several one becomes the lane's dispatcher
  while ((is_dispatched(lane) || ws_xchg_acq_rel(&lane->dispatched, 1) != 0)
         && ws_os_now_ns() - came_ns < WAIT_NS_MAX) {
    if (await_dispatcher(pool, worker, lane, came_ns + WAIT_NS_MAX, task))
      return true;
    ws_complete_due(worker); // it has waited once: that is the bound
    if (ws_deque_size(&lane->deque) == 0)
      return false;
  }
  ws_hint_store(&pool->tasks.dispatching, index + 1);
  const bool got = dispatch(pool, search->here, lane, task);
  forget(pool, index);
  ws_store_release(&lane->dispatched, 0); // [edge DISPATCHED release]
  return got;
}

/// Try to take a task of lane @p index of the pool. The caller is not idle any more then, and if it finds
/// none, what is due is completed. @return false = it has found none, or has not tried: the lane seems empty,
/// or the caller's inbox is not AWAY
static bool serve(ws_search_t *search, uint32_t index, ws_task_t *task)
{
  ws_worker_t *worker = search->here.worker;
  struct ws_pool_s *pool = search->pool;
  ws_queue_t *own = &worker->queue, *lane = pool->tasks.queue[index];
  if (!ws_inbox_is(&worker->inbox, WS_INBOX_AWAY))
    return false;
  if (!is_dispatched(lane) // then a look would take the line of its top from the dispatcher
      && !ws_memo_holds(&own->thief.memo, &lane->deque) && ws_deque_size(&lane->deque) == 0)
    return false;
  const bool was_idle = ws_idle_end(worker, &search->idle); // pushes rely on searchers, and this one may wait
  if (!take_of_lane(search, index, task)) {
    ws_complete_due(worker); // the search goes on elsewhere
    return false;
  }
  own->thief.victim = index;
  ws_traced_steal(pool, search->here, (int32_t)index);
  worker->was_handed = true;
  if (!was_idle)
    ws_prewake_took_more(worker);
  return true;
}

bool ws_dispatch(ws_search_t *search, ws_task_t *task)
{
  struct ws_pool_s *pool = search->pool;
  ws_queue_t *own = search->here.queue;
  if (pool->tasks.domains == 0 || !search->here.worker || must_stop(pool))
    return false;
  ws_summary_rest(own);
  const uint32_t queues = ws_queue_count(&pool->tasks), known = ws_hint_load(&pool->tasks.dispatching);
  if (known > 0 && known <= queues) {
    if (serve(search, known - 1, task))
      return true;
    forget(pool, known - 1);
  }
  const bool is_lane = own->thief.victim >= pool->workers;
  if (ws_thief_is_sure(&pool->tasks, own)) {
    if (!is_lane)
      return false; // the search knows of a task there
    if (serve(search, own->thief.victim, task))
      return true;
  }
  for (uint32_t i = pool->workers; i < queues; i++)
    if (i != own->thief.victim && serve(search, i, task))
      return true;
  if (!is_lane)
    return false;
  // The lane that served last comes after the others, as in ws_steal(). There the workers' deques come before
  // it, here after it. That is only a preference: in ws_steal() all would contend for the lane's top.
  ws_make_no_haste(pool, own);
  if (serve(search, own->thief.victim, task))
    return true;
  own->thief.memo.deque = NULL; // the search need not wait again
  return false;
}
