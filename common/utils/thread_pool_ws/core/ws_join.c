// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_join.c
/// Life of a task, step 7: join. Before: ws_group.c; after: ws_idle.h. Help, spin, sleep.
#include <errno.h>
#include <string.h>

#include "../pool/ws_lane.h"
#include "../pool/ws_observer.h"
#include "../sleep/ws_brief.h"
#include "../sleep/ws_budget.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "../tasks/ws_group_word.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_shared.h"
#include "../trace/ws_traced.h"
#include "ws_escape.h"
#include "ws_find.h"
#include "ws_round.h"
#include "ws_run.h"

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

/// Before a wait without a lane. In a pool of the parent no thread of a child has one.
static void require_threads(const struct ws_pool_s *pool, const goal_t *goal)
{
  WS_REQUIRE(
      !ws_is_lost(pool), name_of(goal),
      "the pool was made before this process was forked: it has no threads here, so the wait cannot end");
}

/// If the thread has run all tasks that were left of a group, it only has to complete the group.
static bool needs_more(const goal_t *goal, uint32_t units)
{
  return goal->group ? ws_group_units(goal->group) != units : !is_reached(goal);
}

/// A wait in progress.
typedef struct {
  struct ws_pool_s *pool; ///< NULL = none
  ws_here_t here;
  const goal_t *goal;
  ws_task_t task; ///< that runs, or ran last
  ws_mark_t *mark; ///< of a thread with a lane, while it helps
  uint32_t units; ///< tasks of the group that have run and are not completed
  uint32_t others; ///< tasks that have run, are completed, and are not counted
  uint32_t turn; ///< kind of these queues that goes first next time
  bool looked; ///< seen is set
  ws_seen_t seen[WS_KINDS_MAX]; ///< of each queue that all threads share (ws_shared.h)
  int cancel; ///< whether the thread could be cancelled before
  bool helps; ///< it has taken a helper's place
} join_t;

static void complete_units(join_t *join)
{
  if (join->units > 0)
    ws_group_complete(join->goal->group, join->units);
  join->others += join->units;
  join->units = 0;
}

static void count(join_t *join)
{
  complete_units(join);
  ws_count_run(join->here.queue, join->others);
  join->others = 0;
}

static void finish_other(join_t *join)
{
  const ws_task_t *task = &join->task;
  if (ws_group_counts(task->group))
    ws_group_complete(task->group, 1);
  join->others++;
}

/// Run one task that a task of the group has pushed. Not for an event: there a task may push the work that
/// comes after the event, and the caller would still run that when its event is ready. Not with a time limit:
/// what the task pushes, or the task itself if it is a fiber that yields, could stay in the caller's
/// queue. The thread from which it was stolen waits for it, may be the only worker, and does not look there.
static bool help_below(join_t *join)
{
  if (!join->goal->group || join->goal->until_ns != 0
      || !ws_steal_below(join->pool, join->here, join->goal->tag, &join->task))
    return false;
  ws_run_whole(join->pool, join->here.queue, &join->task);
  return true;
}

/// A task has run in a wait for an event: tasks that it pushed need not lead to the event.
static void renew_mark(const join_t *join)
{
  ws_queue_t *queue = join->here.queue;
  if (!join->goal->group && queue)
    ws_dig_mark(&join->pool->tasks, queue, queue->mark);
}

/// Run one task that the caller has handed to a worker and that the worker has not begun.
static bool help_handed(join_t *join)
{
  if (WS_LIKELY(!join->here.queue->handed)
      || !ws_inbox_take_back(&join->pool->tasks, join->here.queue, join->goal->tag, &join->task))
    return false;
  ws_run_whole(join->pool, join->here.queue, &join->task);
  renew_mark(join);
  return true;
}

/// Take a task of the goal from one of the queues that all threads share. With a time limit none that another
/// thread has pushed: see help_below(). What a thread without a lane leaves lies there again.
static bool take_shared(join_t *join, ws_kind_t kind)
{
  const ws_here_t here = join->here;
  const ws_wanted_t wanted = {.group = join->goal->tag,
                              .weak = here.queue ? ws_takes_weak(here) : ws_is_inside(join->pool, here),
                              .pusher = here.queue,
                              .after = here.queue ? here.queue->mark->number : 0,
                              .own_only = here.queue && join->goal->until_ns != 0};
  return ws_shared_take_wanted(&join->pool->tasks, kind, &wanted, &join->seen[kind], &join->task);
}

/// Run one task of the goal from the queues that all threads share. The caller may be the only thread that
/// can run it: settings.lanes must not decide whether a wait ends. Each kind goes first in turn: fibers of
/// high priority that yield must not keep a wait from what they yield to.
/// @param urgent  only of high priority
WS_SELDOM static bool run_shared(join_t *join, bool urgent)
{
  struct ws_pool_s *pool = join->pool;
  const ws_here_t here = join->here;
  const uint32_t kinds = pool->tasks.kinds, first = urgent ? WS_KIND_HIGH : join->turn++;
  bool found = false;
  if (!join->looked)
    memset(join->seen, 0, sizeof(join->seen));
  join->looked = true;
  for (uint32_t i = 0; i < (urgent ? 1 : kinds) && !found; i++)
    found = take_shared(join, (first + i) % kinds);
  if (!found)
    return false;
  complete_units(join); // the task may wait for the group
  ws_traced_steal(pool, here, WS_VICTIM_SHARED);
  if (here.queue) {
    ws_count(&here.queue->count.stolen, 1);
    ws_run_whole(pool, here.queue, &join->task);
  } else {
    ws_run_late(pool, here, &join->task);
  }
  renew_mark(join);
  return true;
}

static inline bool help_shared(join_t *join, bool urgent)
{
  const ws_tasks_t *tasks = &join->pool->tasks;
  return WS_UNLIKELY(ws_shared_count(tasks) > 0) && (!urgent || ws_shared_size(tasks, WS_KIND_HIGH) > 0)
         && run_shared(join, urgent);
}

/// The end of a round: each other time a task has its turn that the wait would come to only if its own queue
/// were empty. @return whether it has run one
WS_SELDOM static bool give_turn_elsewhere(join_t *join)
{
  ws_queue_t *queue = join->here.queue;
  if (++queue->looks % 2 == 0)
    return false;
  ws_round_begin(queue);
  complete_units(join); // the task may wait for the group
  return help_handed(join) || help_below(join) || help_shared(join, false);
}

/// @return whether the time limit of the wait is over
/// @param timed  a constant: waits without a limit do not read it
__attribute__((always_inline)) static inline bool is_late(const join_t *join, bool timed)
{
  return timed && join->goal->until_ns != 0 && ws_os_now_ns() >= join->goal->until_ns;
}

/// Run tasks of the goal from the caller's own queue until there are none. @return whether any ran
__attribute__((always_inline)) static inline bool run_own(join_t *join, bool timed)
{
  struct ws_pool_s *pool = join->pool;
  const ws_here_t here = join->here;
  const goal_t *goal = join->goal;
  ws_task_t *task = &join->task;
  bool ran = false;
  for (; needs_more(goal, join->units) && !is_late(join, timed); ran = true) {
    const bool over = ws_round_search(here.queue);
    if (over ? give_turn_elsewhere(join) : help_shared(join, true))
      continue;
    if (!(over && ws_find_turn(pool, here, goal->tag, task)) && !ws_find_own(pool, here, goal->tag, task))
      break;
    if (goal->group && task->group == goal->group) {
      ws_run(pool, here.queue, task);
      join->units++;
      continue;
    }
    complete_units(join); // a task pushed by a task of the group may wait for the group
    ws_run(pool, here.queue, task);
    finish_other(join);
    renew_mark(join);
  }
  count(join);
  return ran;
}

/// Spin until the goal is reached or there is a task to help with. A worker spins no longer than an idle one
/// may, because another worker could run in its place. @return false if it is time to sleep
static bool spin(join_t *join)
{
  const struct ws_pool_s *pool = join->pool;
  const bool is_worker = join->here.worker;
  const uint64_t ns_max = is_worker ? pool->settings.spin_ns_max : pool->settings.join_spin_ns_max;
  const uint64_t start_ns = ws_os_now_ns();
  while (is_worker ? ws_may_spin(pool) : ws_helper_may_spin(pool)) {
    for (uint32_t turn = 0; turn < 8; turn++) {
      if (is_reached(join->goal) || help_below(join) || help_handed(join) || help_shared(join, false))
        return true;
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

/// The thread has no tasks to help with any more.
static void end_help(join_t *join)
{
  ws_queue_t *queue = join->here.queue;
  queue->mark = join->mark->outer;
  queue->round_left = join->mark->round_left;
  join->mark = NULL;
  if (!join->helps)
    return;
  join->helps = false;
  ws_helper_end(join->pool, join->here);
  ws_note_idle(join->pool); // a worker does so when it is out of work
}

/// A cleanup handler: the thread was cancelled as it slept for an event.
static void give_up(void *join_arg)
{
  join_t *join = join_arg;
  ws_blocking_end();
  if (join->mark)
    end_help(join);
}

/// Sleep, because no task is left to run. A thread that counts as awake in any pool lets another worker run
/// there. For an event it may be cancelled, if it could be before the wait.
static void sleep_on(join_t *join)
{
  const goal_t *goal = join->goal;
  ws_blocking_begin();
  if (goal->group) {
    ws_group_sleep(goal->group, goal->until_ns);
  } else {
    pthread_cleanup_push(give_up, join);
    ws_cancel_restore(join->cancel);
    goal->event->sleep(goal->event->arg);
    ws_cancel_disable();
    pthread_cleanup_pop(0);
  }
  ws_blocking_end();
}

/// Help, spin, sleep: see ws_group.h.
__attribute__((always_inline)) static inline void help_while(join_t *join, bool timed)
{
  const ws_here_t here = join->here;
  join->helps = ws_helper_begin(join->pool, here); // once, however deep it joins
  ws_mark_t mark;
  mark.outer = here.queue->mark;
  ws_dig_mark(&join->pool->tasks, here.queue, &mark);
  mark.round_left = here.queue->round_left;
  join->mark = &mark;
  here.queue->round_left = WS_ROUND_SEARCHES;
  here.queue->mark = &mark;
  while (!is_reached(join->goal) && !is_late(join, timed)) {
    if (run_own(join, timed) || help_shared(join, false) || spin(join))
      continue;
    if (!here.worker)
      ws_note_idle(join->pool); // it may have run the pool's last task; a worker notes that when out of work
    sleep_on(join);
  }
  here.queue->handed = here.queue->handed && (here.queue->depth > 0 || !is_reached(join->goal));
  end_help(join);
}

/// The thread has no lane in the pool, or there is none: help with what all threads share, sleep.
static void help_without_lane(join_t *join)
{
  struct ws_pool_s *pool = join->pool;
  if (pool)
    require_threads(pool, join->goal);
  while (!is_reached(join->goal) && !is_late(join, true)) {
    if (pool && pool->workers > 0)
      join->here = ws_here_known(pool);
    if (join->here.queue) // it has got a lane in a task, and its tasks may lie there
      help_while(join, true);
    else if (!pool || pool->workers == 0 || !help_shared(join, false))
      sleep_on(join);
  }
}

/// Inline, as wait(): a nested join is so short that the call would count, and what is constant in the goal.
__attribute__((always_inline)) static inline void wait_in(struct ws_pool_s *pool, const goal_t *goal)
{
  WS_NOTHING_ESCAPES();
  join_t join; // its task is written before it is read
  join.pool = pool;
  join.here = pool && pool->workers > 0 ? ws_here(pool) : (ws_here_t){0};
  join.goal = goal;
  join.mark = NULL;
  join.units = join.others = 0;
  join.turn = WS_KIND_NORMAL;
  join.looked = false;
  join.helps = false;
  const bool in_task = ws_self()->task; // which runs with cancellation disabled
  join.cancel = in_task ? PTHREAD_CANCEL_DISABLE : ws_cancel_disable();
  if (!join.here.queue)
    help_without_lane(&join);
  else if (goal->until_ns != 0)
    help_while(&join, true);
  else
    help_while(&join, false);
  if (!in_task)
    ws_cancel_restore(join.cancel);
}

/// A fiber parks instead. The thread may be another one afterwards: its own state is read anew.
WS_SELDOM static bool has_waited_in_fiber(const ws_hooks_t *hooks, const struct ws_pool_s *pool,
                                          const goal_t *goal)
{
  if (pool)
    require_threads(pool, goal);
  if (!hooks->wait(goal->group, goal->event, goal->until_ns))
    return false;
  ws_traced_join_end(pool, goal->tag);
  return true;
}

__attribute__((always_inline)) static inline void wait(struct ws_pool_s *pool, const goal_t *goal)
{
  ws_not_observing(name_of(goal));
  if (!pool && ws_self()->worker)
    pool = ws_self()->worker->pool; // it may be the only thread that can
  ws_traced_join_begin(pool, goal->tag);
  if (!is_reached(goal)) {
    const ws_hooks_t *hooks = ws_process_hooks();
    if (hooks && has_waited_in_fiber(hooks, pool, goal))
      return;
    wait_in(pool, goal);
  }
  // also if the workers were so quick that the wait was over at once: the queue may have grown all the same
  const ws_here_t here = pool ? ws_here_known(pool) : (ws_here_t){0};
  if (here.queue) {
    ws_inbox_give_back(&pool->tasks, here.queue);
    if (WS_UNLIKELY(ws_queue_may_shrink(here.queue)))
      ws_give_back(pool, here.queue);
    if (WS_UNLIKELY(here.queue->alone.noted))
      ws_brief_learn(pool, here.queue);
  }
  ws_traced_join_end(pool, goal->tag);
}

void ws_group_wait(ws_group_t *group, struct ws_pool_s *pool)
{
  wait(pool, &(goal_t){.tag = group, .group = group});
}

int ws_group_wait_until(ws_group_t *group, struct ws_pool_s *pool, uint64_t deadline_ns)
{
  const uint64_t until_ns = ws_os_until(deadline_ns);
  if (until_ns == 0 || ws_os_now_ns() < until_ns)
    wait(pool, &(goal_t){.tag = group, .group = group, .until_ns = until_ns});
  return ws_group_done(group) ? 0 : -ETIMEDOUT;
}

void ws_pool_await(ws_pool_t *pool, const ws_group_t *tag, const ws_event_t *event)
{
  WS_REQUIRE(event && event->ready && event->sleep, "ws_pool_await", "event, its ready or its sleep is NULL");
  wait(pool, &(goal_t){.tag = tag, .event = event});
}
