// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_join.c
/// Life of a task, step 7: join. Before: ws_group.c; after: ws_idle.h. Help, spin, sleep.
#include "../pool/ws_callback.h"
#include "../pool/ws_lane.h"
#include "../sleep/ws_budget.h"
#include "../sleep/ws_helper.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_shared.h"
#include "../trace/ws_traced.h"
#include "ws_escape.h"
#include "ws_next.h"
#include "ws_run.h"
#include "ws_search.h"

/// What a thread waits for.
typedef struct {
  const ws_group_t *tag; ///< the wait runs tasks that carry it
  ws_group_t *group; ///< until it is done; NULL = until the event is ready
  const ws_event_t *event;
  uint64_t until_ns; ///< the wait may end then without it, CLOCK_MONOTONIC; 0 = it may not
} goal_t;

static bool is_reached(const goal_t *goal)
{
  return goal->group ? ws_group_done(goal->group) : goal->event->ready(goal->event->arg);
}

static const char *name_of(const goal_t *goal)
{
  return goal->event ? "ws_pool_await" : goal->until_ns != 0 ? "ws_group_wait_until" : "ws_group_wait";
}

static inline bool is_overdue(const goal_t *goal)
{
  return goal->until_ns != 0 && ws_os_now_ns() >= goal->until_ns;
}

/// Before a wait without a lane, end the process if the pool is lost by a fork: no thread of the child has a
/// lane there.
static void require_threads(const struct ws_pool_s *pool, const goal_t *goal)
{
  WS_REQUIRE(
      !ws_is_lost(pool), name_of(goal),
      "the pool was made before this process was forked: it has no threads here, so the wait cannot end");
}

/// A wait in progress.
typedef struct {
  ws_search_t search;
  const goal_t *goal;
  ws_task_t task; ///< that runs, or ran last
  bool helps; ///< wait is the thread's innermost
  bool is_helper; ///< it has taken a helper's CPU slot
  uint32_t units; ///< tasks of the group that have run and are not completed
  int cancel; ///< whether the thread could be cancelled before
  ws_wait_t wait; ///< search.wait
} join_t;

/// A thread with a queue begins to help: the wait becomes its innermost, and has rounds of its own. Tasks
/// that are pushed there from now on are the wait's. A thread outside takes a CPU slot, unless it has one
/// there.
static void begin_help(join_t *join)
{
  struct ws_pool_s *pool = join->search.pool;
  ws_queue_t *queue = join->search.here.queue;
  join->is_helper = ws_helper_begin(pool, join->search.here); // once, however deep it joins
  join->wait.queue = queue;
  join->wait.outer = queue->wait;
  ws_dig_begin(queue, &join->wait);
  join->wait.round_left = queue->round.left;
  queue->round.left = WS_ROUND_SEARCHES;
  queue->wait = &join->wait;
  join->helps = true;
}

/// Undo begin_help(): the wait is over, or its thread is cancelled. Tasks that were pushed since, and are
/// left, belong to the wait around this one, if there is one.
static inline void end_help(join_t *join)
{
  ws_queue_t *queue = join->search.here.queue;
  if (WS_UNLIKELY(join->wait.kinds != 0))
    ws_shared_forget(&join->search.pool->tasks, &join->wait);
  ws_dig_lower(&join->wait);
  queue->wait = join->wait.outer;
  queue->round.left = join->wait.round_left;
  join->helps = false;
  if (!join->is_helper)
    return;
  ws_helper_end(join->search.pool, join->search.here);
  ws_note_idle(join->search.pool); // a worker does so when it is out of work
}

static inline void complete_units(join_t *join)
{
  if (join->units > 0)
    ws_complete(join->search.pool, join->search.here.queue, join->goal->group, join->units);
  join->units = 0;
}

/// Run the task that was taken, and complete it. Tasks of the group from the own deque are left to
/// complete_units(), which completes them together. Inline, because a nested join is so short.
__attribute__((always_inline)) static inline void run_taken(join_t *join, const goal_t *goal)
{
  ws_task_t *task = &join->task;
  struct ws_pool_s *pool = join->search.pool;
  if (WS_LIKELY(join->search.from_own && goal->group && task->group == goal->group)) {
    ws_run(pool, join->search.here.queue, task);
    join->units++;
    return;
  }
  const ws_here_t here = join->search.here;
  if (goal->group)
    complete_units(join); // the task may wait for the group
  if (join->search.from_own) {
    ws_run(pool, here.queue, task);
    ws_complete(pool, here.queue, task->group, 1);
  } else {
    ws_run_whole(pool, here, task);
  }
  if (!goal->group && here.queue) // what a task pushes in a wait for an event need not lead to the event
    ws_dig_anew(here.queue, &join->wait);
}

/// Spin until the goal is reached, its time is over, or there is a task to help with, which is run. A worker
/// spins for spin_ns_max at most, as an idle one, because another worker could run in its place.
/// @return false if it is time to sleep
static bool spin(join_t *join)
{
  const struct ws_pool_s *pool = join->search.pool;
  const bool is_worker = join->search.here.worker;
  const uint64_t ns_max = is_worker ? pool->settings.spin_ns_max : pool->settings.join_spin_ns_max;
  const uint64_t start_ns = ws_os_now_ns();
  while (is_worker ? ws_may_spin(pool, 0) : ws_helper_may_spin(pool)) {
    for (uint32_t turn = 0; turn < 8; turn++) {
      if (is_reached(join->goal))
        return true;
      if (ws_next_elsewhere(&join->search, &join->task)) {
        run_taken(join, join->goal);
        return true;
      }
      ws_pause();
    }
    const uint64_t now_ns = ws_os_now_ns();
    if (now_ns - start_ns > ns_max)
      break;
    if (join->goal->until_ns != 0 && now_ns >= join->goal->until_ns)
      return true;
  }
  return false;
}

/// A cleanup handler: the thread was cancelled as it slept for an event, or has called pthread_exit() there.
/// It runs before the unwinder comes to the frame of the wait.
static void give_up(void *join_arg)
{
  join_t *join = join_arg;
  ws_blocking_end();
  if (join->helps)
    end_help(join);
  ws_self()->runs_in = NULL; // it was in no task
  ws_self()->may_end = true;
}

/// Sleep, because no task is left to run. A thread that counts as awake in any pool lets another worker run
/// there. For an event it may be cancelled, if it could be before the wait.
static void sleep_on(join_t *join)
{
  const goal_t *goal = join->goal;
  ws_blocking_begin();
  ws_traced_sleep(join->search.pool, false);
  if (goal->group) {
    ws_group_sleep(goal->group, goal->until_ns);
  } else {
    pthread_cleanup_push(give_up, join);
    ws_cancel_restore(join->cancel);
    goal->event->sleep(goal->event->arg);
    ws_cancel_disable();
    pthread_cleanup_pop(0);
  }
  ws_traced_sleep(join->search.pool, true);
  ws_blocking_end();
}

/// A fiber parks until the goal is reached or its time is over. The thread may be another one afterwards: its
/// own state is read anew. @return false = the caller is in no fiber, and has not waited
WS_SELDOM static bool has_waited_in_fiber(const ws_hooks_t *hooks, const struct ws_pool_s *pool,
                                          const goal_t *goal)
{
  if (pool)
    require_threads(pool, goal);
  if (!hooks->wait(goal->group, goal->event, goal->until_ns))
    return false;
  ws_traced_join(pool, goal->tag, true);
  return true;
}

/// After a wait, give back the workers that the thread has reserved, and memory of its queue. Also if the
/// wait was over at once: the queue may have grown all the same.
static inline void tidy(struct ws_pool_s *pool)
{
  const ws_here_t here = pool ? ws_here_known(pool) : (ws_here_t){0};
  if (!here.queue)
    return;
  ws_inbox_give_back(&pool->tasks, here.queue);
  if (WS_UNLIKELY(here.queue->deque.level > 0))
    ws_give_back(pool, here.queue);
}

/// Help, spin, sleep, until the goal is reached or its time is over. Inline: a nested join is so short that
/// the call would count, and so would looks at what is constant in the goal.
/// @param pool  of the tasks; NULL, or without workers = only sleep
__attribute__((always_inline)) static inline void help_until(struct ws_pool_s *pool, const goal_t *goal)
{
  WS_NOTHING_ESCAPES();
  join_t join; // its task is written before it is read
  const bool has_pool = pool && pool->workers > 0; // else there are no tasks to help with
  join.goal = goal;
  join.search = (ws_search_t){.pool = pool, .wait = &join.wait, .filter = WS_NEXT_GROUP};
  if (has_pool)
    join.search.here = ws_here(pool);
  join.units = 0;
  join.wait.group = goal->tag;
  join.wait.is_event = !goal->group;
  join.wait.is_timed = goal->until_ns != 0;
  join.wait.has_hidden = join.wait.has_looked = false;
  join.helps = false;
  ws_self_t *self = ws_self();
  __asm__("" : "+r"(self)); // in a shared library its address costs a call: it is computed once
  const bool in_task = self->task; // which runs with cancellation disabled
  // Inside a task, of any pool, the thread may be the only one that can run tasks with a weak tag.
  join.wait.weak = in_task || join.search.here.worker;
  struct ws_pool_s *const ran_in = self->runs_in;
  self->runs_in = pool;
  join.cancel = in_task ? PTHREAD_CANCEL_DISABLE : ws_cancel_disable();
  if (pool && !join.search.here.queue)
    require_threads(pool, goal);
  while (!is_reached(goal) && !is_overdue(goal)) {
    if (WS_UNLIKELY(has_pool && !join.search.here.queue)) {
      join.search.here = ws_here_known(pool); // it may have got a lane in a task
      join.wait.queue = NULL;
    }
    if (join.search.here.queue && !join.helps)
      begin_help(&join);

    // Help: run tasks of the goal until none is left. Other threads may run some of them meanwhile.
    bool ran = false;
    // while there is more to do than to complete units
    while (has_pool && (goal->group ? ws_group_units(goal->group) != join.units : !is_reached(goal))
           && !is_overdue(goal)) {
      const bool found = ws_next(&join.search, WS_NEXT_GROUP, &join.task);
      if (WS_UNLIKELY(join.wait.has_hidden)) {
        ws_fill_slot(pool, join.search.here); // a worker may have gone to sleep meanwhile
        join.wait.has_hidden = false;
      }
      if (!found)
        break;
      run_taken(&join, goal);
      ran = true;
      if (WS_UNLIKELY(!join.helps))
        break; // the task may have given it a lane, by which it helps
    }
    complete_units(&join);
    if (ran)
      continue;

    // Spin, if the thread has a lane: the last tasks run elsewhere, and mostly end soon.
    if (join.helps && spin(&join))
      continue;
    if (WS_UNLIKELY(join.search.retry)) { // no other thread need run what is left: the wait comes again
      ws_os_yield(); // a thread of its priority may have that to do for which the others yield
      continue;
    }

    // Sleep.
    if (join.helps && !join.search.here.worker)
      ws_note_idle(pool); // it may have run the pool's last task; a worker notes that when out of work
    sleep_on(&join);
  }
  if (join.helps) {
    ws_queue_t *queue = join.search.here.queue;
    if (ws_inbox_has_handed(queue) && queue->depth == 0 && is_reached(goal))
      ws_inbox_forget(queue);
    end_help(&join);
  }
  self->runs_in = ran_in;
  if (!in_task)
    ws_cancel_restore(join.cancel);
}

/// Wait for a goal in any thread, or fiber, and note that in the trace.
/// @param pool  NULL = the one in which the caller runs a task, waits, or is a worker, if there is one
__attribute__((always_inline)) static inline void wait_for(struct ws_pool_s *pool, const goal_t *goal)
{
  const char *call = name_of(goal);
  ws_not_observing(call);
  if (!pool && ws_self()->runs_in && !ws_is_lost(ws_self()->runs_in))
    pool = ws_self()->runs_in; // the thread may be the only one that can help
  ws_traced_join(pool, goal->tag, false);
  if (goal->event || !is_reached(goal)) { // an event's ready(): only where nothing escapes (help_until())
    const ws_hooks_t *hooks = ws_process_hooks();
    if (hooks && has_waited_in_fiber(hooks, pool, goal))
      return;
    help_until(pool, goal);
  }
  tidy(pool);
  ws_traced_join(pool, goal->tag, true);
}

void ws_group_wait(ws_group_t *group, struct ws_pool_s *pool)
{
  wait_for(pool, &(goal_t){.tag = group, .group = group});
}

int ws_group_wait_until(ws_group_t *group, struct ws_pool_s *pool, uint64_t deadline_ns)
{
  const uint64_t until_ns = ws_os_until(deadline_ns);
  if (until_ns == 0 || ws_os_now_ns() < until_ns)
    wait_for(pool, &(goal_t){.tag = group, .group = group, .until_ns = until_ns});
  return ws_group_done(group) ? 0 : -ETIMEDOUT;
}

void ws_pool_await(ws_pool_t *pool, const ws_group_t *tag, const ws_event_t *event)
{
  WS_REQUIRE(event && event->ready && event->sleep, "ws_pool_await", "event, its ready or its sleep is NULL");
  wait_for(pool, &(goal_t){.tag = tag, .event = event});
}
