// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_deal.c
/// ws_deal.h.
#include "ws_deal.h"

#include "../os/ws_os.h"
#include "../pool/ws_near.h"
#include "../prewake/ws_prewake.h"
#include "../sleep/ws_idle.h"
#include "../sleep/ws_wake.h"
#include "ws_root.h"
#include "ws_run.h"

/// Pools with fewer workers have no dealers.
#define WORKERS_MIN 16u
/// Workers of one circle, about, and most circles: a dealer looks at all of them.
#define CIRCLE_WORKERS 8u
/// Tasks that a dealer hands out, at most, before it runs one.
#define DEALT_MAX 64u
/// Of these, that it takes before it hands them out.
#define TAKEN_MAX 4u
/// Workers that it claims at once.
#define AT_ONCE_MAX 16u
/// Time that a worker waits for dealers, at most.
#define WAIT_NS_MAX 64000u
/// Pauses after which it completes what it has run: a worker that gets its next task before need not contend
/// with the others for the group's word.
#define HOLD_PAUSES 64u
/// Pauses between two looks at the clock, and whether there is a dealer.
#define LOOK_PAUSES 8u
uint32_t ws_deal_circles(uint32_t workers)
{
  const uint32_t circles = (workers + CIRCLE_WORKERS - 1) / CIRCLE_WORKERS;
  return workers < WORKERS_MIN ? 0 : circles < WS_CIRCLES_MAX ? circles : WS_CIRCLES_MAX;
}

static uint32_t next_circle(const struct ws_pool_s *pool, uint32_t circle)
{
  return circle + 1 < pool->tasks.circles ? circle + 1 : 0;
}

/// @param at  in and out: the circle to look at first
static ws_claim_t claim(struct ws_pool_s *pool, uint32_t most, uint32_t *at)
{
  ws_claim_t claimed = {0};
  ws_prefetch(&pool->tasks.circle[*at].mask);
  ws_prefetch(&pool->tasks.circle[next_circle(pool, *at)].mask);
  for (uint32_t i = 0; i < pool->tasks.circles && claimed.bits == 0; i++) {
    claimed = ws_inbox_claim(&pool->tasks, pool->tasks.circle[*at].mask, most);
    *at = next_circle(pool, *at);
  }
  return claimed;
}

/// Take the oldest tasks, all before the first is given: a steal would wait for the caller's stores to arrive
/// at the worker before. @return how many
static uint32_t take_some(ws_here_t here, ws_queue_t *lane, uint32_t most, ws_task_t *tasks)
{
  uint32_t taken = 0;
  while (taken < most && taken < TAKEN_MAX
         && ws_deque_steal_one(&lane->deque, &here.queue->memo, &tasks[taken])) {
    if (here.worker->due.group != tasks[taken].group)
      ws_complete_due(here.worker); // its wait need not wait for these
    taken++;
  }
  return taken;
}

/// Hand tasks to workers that wait. @return whether the caller has a task: a worker did not wait any more. If
/// there were several, the others are in the caller's own queue
static bool hand_out(struct ws_pool_s *pool, ws_here_t here, ws_queue_t *lane, ws_claim_t *claimed,
                     ws_task_t *task)
{
  ws_task_t tasks[TAKEN_MAX];
  uint32_t kept = 0, taken = TAKEN_MAX;
  ws_need_guard(pool); // before, too: the caller may lose its CPU after a fill
  while (claimed->bits != 0 && kept == 0 && taken == TAKEN_MAX) {
    taken = take_some(here, lane, (uint32_t)__builtin_popcountll(claimed->bits), tasks);
    for (uint32_t i = 0; i < taken; i++)
      if (WS_UNLIKELY(!ws_inbox_give(&pool->tasks, here.queue, claimed, &tasks[i])))
        tasks[kept++] = tasks[i];
  }
  ws_need_guard(pool); // a worker may get no CPU
  ws_inbox_decline(&pool->tasks, here.queue, claimed);
  if (kept > 0)
    *task = tasks[0];
  if (WS_UNLIKELY(kept > 1)) {
    ws_root_mix(here.queue, NULL);
    ws_queue_push(here.queue, tasks + 1, kept - 1);
    ws_fill_place(pool, here);
  }
  return kept > 0;
}

/// @return whether the caller must not take tasks in a row any more: others may have to come first
static bool must_stop(const struct ws_pool_s *pool)
{
  return ws_shared_count(&pool->tasks) > 0;
}

/// @return how many tasks of the lane its dealer wants to hand out next; the last one is its own
static uint32_t wanted(const ws_queue_t *lane, uint32_t left)
{
  const uint64_t size = ws_deque_size(&lane->deque);
  const uint32_t most = left < AT_ONCE_MAX ? left : AT_ONCE_MAX;
  return size == 0 ? 0 : size <= most ? (uint32_t)size - 1 : most;
}

static bool deal(struct ws_pool_s *pool, ws_here_t here, ws_queue_t *lane, ws_task_t *task)
{
  uint32_t at = ws_near_circle(here.worker), left = DEALT_MAX;
  while (left > 0 && !must_stop(pool) && ws_deque_has_room(&here.queue->deque, TAKEN_MAX)) {
    const uint32_t most = wanted(lane, left);
    if (most == 0)
      break;
    ws_deque_prefetch(&lane->deque, most); // they come while the caller claims
    ws_claim_t claimed = claim(pool, most, &at);
    if (claimed.bits == 0)
      break;
    left -= (uint32_t)__builtin_popcountll(claimed.bits);
    here.queue->memo.deque = NULL; // others take what it remembers
    if (hand_out(pool, here, lane, &claimed, task))
      return true;
  }
  return ws_deque_steal_one(&lane->deque, &here.queue->memo, task);
}

/// The caller waits in its circle. @return whether a dealer has handed over a task
static bool await_dealer(struct ws_pool_s *pool, ws_worker_t *worker, const ws_queue_t *lane,
                         uint64_t until_ns, ws_task_t *task)
{
  ws_inbox_t *inbox = &worker->inbox;
  ws_inbox_open(inbox, pool->tasks.circle[ws_near_circle(worker)].mask);
  for (uint32_t pause = 1; !ws_inbox_is_full(inbox); pause++) {
    if (pause == HOLD_PAUSES)
      ws_complete_due(worker); // it takes as long as the dealer does
    if (pause % LOOK_PAUSES == 0
        && (!ws_deal_is_on(lane) || !ws_inbox_is_claimed(inbox) || ws_os_now_ns() >= until_ns))
      break;
    ws_pause();
  }
  if (!ws_inbox_shut(&pool->tasks, inbox))
    return false;
  ws_inbox_empty(inbox, task);
  return true;
}

/// Leave the search for the dealer. @return whether the caller comes from a task
static bool leave_search(ws_worker_t *worker)
{
  if (!ws_searches(worker))
    return true;
  ws_spin_found(worker); // pushes rely on searchers, and this one may wait
  ws_search_found(worker);
  return false;
}

/// @return whether the caller is the lane's dealer now
static bool becomes_dealer(ws_queue_t *lane)
{
  return !ws_deal_is_on(lane) && ws_xchg_acq_rel(&lane->dealt, 1) == 0; // [edge DEALT acq_rel] one of several
}

bool ws_deal(struct ws_pool_s *pool, ws_here_t here, uint32_t lane, ws_task_t *task)
{
  ws_queue_t *queue = pool->tasks.queue[lane];
  const uint64_t came_ns = ws_os_now_ns();
  const bool from_task = leave_search(here.worker);
  bool got = false;
  while (!becomes_dealer(queue) && ws_os_now_ns() - came_ns < WAIT_NS_MAX) {
    got = await_dealer(pool, here.worker, queue, came_ns + WAIT_NS_MAX, task);
    if (got)
      break;
    ws_complete_due(here.worker); // it has waited once: that is the bound
    if (ws_deque_size(&queue->deque) == 0)
      return false;
  }
  if (!got) {
    ws_hint_store(&pool->tasks.dealing, lane + 1);
    got = deal(pool, here, queue, task);
    ws_deal_forget(pool, lane);
    ws_store_release(&queue->dealt, 0); // [edge DEALT release]
  }
  if (!got) {
    ws_complete_due(here.worker); // the search goes on elsewhere
    return false;
  }
  here.worker->was_handed = true;
  if (from_task)
    ws_prewake_took_more(here.worker);
  return true;
}
