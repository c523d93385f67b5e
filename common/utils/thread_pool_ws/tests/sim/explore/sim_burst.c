// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_burst.c
/// Bursts that are pushed to the core: groups, tags, events.
#include <errno.h>
#include <limits.h>
#include <semaphore.h>

#include "../../../pool/ws_types.h"
#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_play.h"
#include "sim_random.h"
#include "sim_record.h"
#include "sim_seam_points.h"

#define GOALS_MAX 8192u
#define BATCH_MAX 64u
#define STARVED_MAX 6u
#define STARVE_PS_MIN (8 * SIM_PS_PER_MS)

/// What a burst's tasks complete. Never on a stack: a thread may end before its tasks have run.
typedef struct goal_s goal_t;
struct goal_s {
  ws_group_t group;
  uint32_t id; ///< of this use: the memory is used again
  goal_t *next_free;
  uint32_t left; ///< SIM_END_EVENT: tasks
  sem_t sem;
};

/// Aligned: which of their words share a line must not depend on the linker.
static _Alignas(64) goal_t goals[GOALS_MAX];
static uint32_t goals_used;
static goal_t *goals_free; ///< waited for, so that their memory may be used again

static void free_goal(goal_t *goal)
{
  goal->next_free = goals_free;
  goals_free = goal;
}

static goal_t *new_goal(uint32_t count)
{
  static uint32_t ids;
  goal_t *goal = goals_free;
  if (goal)
    goals_free = goal->next_free;
  else if (goals_used < GOALS_MAX)
    goal = &goals[goals_used++];
  else
    return NULL;
  goal->id = ++ids;
  ws_group_init(&goal->group, count);
  goal->left = count;
  sem_init(&goal->sem, 0, 0);
  return goal;
}

static void complete(sim_end_t end, goal_t *goal)
{
  if (end == SIM_END_TAG) {
    ws_group_complete(&goal->group, 1);
  } else if (end == SIM_END_EVENT) {
    sim_modify(&goal->left);
    if (--goal->left == 0)
      sem_post(&goal->sem);
  }
}

static void wait_for(ws_pool_t *pool, sim_end_t end, goal_t *goal);

static void wait_for_earlier(const sim_record_t *record)
{
  if (record->waits_for)
    wait_for(sim_pool[record->pool], SIM_END_GROUP, record->waits_for);
}

/// The task of a fiber completes its group itself.
static void end_fiber(sim_record_t *record)
{
  sim_record_end(record);
  ws_group_complete(record->goal, 1);
}

static void run_task(void *record_arg)
{
  sim_record_t *record = record_arg;
  sim_task_run(record, wait_for_earlier);
  if (record->goal)
    complete(record->burst->end, record->goal);
}

static bool is_ready(void *goal_arg)
{
  goal_t *goal = goal_arg;
  sim_load(&goal->left);
  return goal->left == 0;
}

static void sleep_until_ready(void *goal_arg)
{
  sem_wait(&((goal_t *)goal_arg)->sem);
}

static ws_group_t *carried(sim_end_t end, goal_t *goal)
{
  return end == SIM_END_GROUP                         ? &goal->group
         : end == SIM_END_TAG || end == SIM_END_EVENT ? ws_group_tag(goal)
                                                      : NULL;
}

static void ride(void *record)
{
  sim_ride(record, end_fiber);
}

/// Tasks that are pushed at once.
typedef struct {
  ws_pool_t *pool;
  const sim_burst_t *burst;
  sim_end_t end;
  goal_t *goal;
  uint32_t first, count; ///< records
} family_t;

/// The pool did not take the task: no other thread will complete it.
static void refuse(const family_t *family, sim_record_t *record)
{
  sim_record_answer(record, false);
  if (family->end == SIM_END_GROUP)
    ws_group_complete(&family->goal->group, 1);
  else if (record->goal)
    complete(family->burst->end, family->goal);
}

static void push_batch(const family_t *family, const ws_task_t *task)
{
  const uint32_t first = family->first, count = family->count;
  const int64_t taken = ws_pool_push_batch(family->pool, task, count);
  if (taken < 0 && (taken != -ECANCELED || sim_stack_is_in(sim_record[first].pool)))
    sim_finding("a batch was refused with %lld", (long long)taken);
  for (uint32_t i = 0; i < count; i++) {
    if ((int64_t)i < taken)
      sim_record_answer(&sim_record[first + i], true);
    else
      refuse(family, &sim_record[first + i]);
  }
}

/// A pool that stops still takes what its tasks push.
static bool may_refuse(const ws_pool_t *pool, const sim_record_t *record, int result)
{
  const bool fails = record->burst->by == SIM_BY_TRY || pool->settings.full == WS_FULL_FAIL;
  return (result == -ECANCELED && !sim_stack_is_in(record->pool)) || (result == -EAGAIN && fails);
}

/// The worker that will be handed a task gets no CPU for a time.
static void starve_waiting(const ws_pool_t *pool)
{
  static uint32_t starved;
  for (uint32_t i = 0; i < pool->workers && starved < STARVED_MAX && ws_tid(pool->worker[i]) != 0; i++) {
    const ws_worker_t *worker = pool->worker[i];
    const uint32_t cpu = sim_thread[ws_tid(worker) - 1]->cpu;
    if (!worker->inbox.open || cpu == sim_self->cpu || !sim_fault_happens(sim_scene->push_starves))
      continue;
    sim_fault_hog(cpu, sim_self->now_ps, STARVE_PS_MIN + (sim_ps_t)sim_random_below(2 * STARVE_PS_MIN));
    starved++;
  }
}

static void push_singly(const family_t *family, const ws_task_t *task)
{
  ws_pool_t *pool = family->pool;
  for (uint32_t i = 0; i < family->count; i++) {
    sim_record_t *record = &sim_record[family->first + i];
    starve_waiting(pool);
    const int result =
        family->burst->by == SIM_BY_TRY ? ws_pool_try_push(pool, task[i]) : ws_pool_push(pool, task[i]);
    if (result == 0)
      sim_record_answer(record, true);
    else if (may_refuse(pool, record, result))
      refuse(family, record);
    else
      sim_finding("a push was refused with %d", result);
  }
}

static ws_priority_t priority_of(uint32_t record)
{
  const uint64_t hash = (record + sim_scene->seed) * UINT64_C(0x9E3779B97F4A7C15) >> 40;
  return sim_scene->prioritized ? (ws_priority_t)(hash % (WS_PRIORITY_LOW + 1)) : WS_PRIORITY_NORMAL;
}

/// Numbers of nodes that there may be, of one that there is not, and none.
static uint32_t node_of(uint32_t record)
{
  const uint64_t hash = (record + sim_scene->seed) * UINT64_C(0xD1B54A32D192ED03) >> 40;
  return sim_scene->hinted ? (uint32_t)(hash % 5) : WS_NODE_ANY;
}

static ws_task_t make_task(const family_t *family, uint32_t index)
{
  goal_t *goal = family->goal;
  sim_record_t *record = &sim_record[index];
  const bool yields = family->end == SIM_END_GROUP && sim_ride_may(record);
  record->task = (ws_task_t){.func = yields ? ride : run_task,
                             .arg = record,
                             .group = yields ? ws_group_tag(&goal->group) : carried(family->end, goal),
                             .priority = priority_of(index),
                             .node = node_of(index)};
  if (yields)
    record->goal = &goal->group;
  return record->task;
}

static void push_all(const family_t *family)
{
  ws_task_t task[BATCH_MAX] = {{0}};
  sim_frame_t frame = {.in = SIM_IN_PUSH, .outer = *sim_stack()};
  *sim_stack() = &frame;
  for (uint32_t i = 0; i < family->count; i++)
    task[i] = make_task(family, family->first + i);
  sim_task_before_call();
  if (family->burst->by == SIM_BY_BATCH)
    push_batch(family, task);
  else
    push_singly(family, task);
  *sim_stack() = frame.outer;
}

/// Wait with a time limit, and again with one that is twice as long, until the wait is in time.
static void wait_with_limits(ws_pool_t *pool, sim_end_t end, goal_t *goal, sim_frame_t *frame)
{
  const uint64_t seed = sim_scene->seed + (uint64_t)(sim_self->now_ps / SIM_PS_PER_NS);
  uint64_t ns = (seed * UINT64_C(0x9E3779B97F4A7C15) >> 40) % 20000;
  int result;
  do {
    const uint64_t until_ns = (uint64_t)(sim_self->now_ps / SIM_PS_PER_NS) + ns;
    frame->until_ns = until_ns;
    frame->late = 0;
    result = end == SIM_END_POOL ? ws_pool_wait_until(pool, until_ns)
                                 : ws_group_wait_until(&goal->group, pool, until_ns);
    if (result == -ETIMEDOUT && (uint64_t)(sim_self->now_ps / SIM_PS_PER_NS) < until_ns)
      sim_finding("early: a wait has returned before its time limit");
    ns = 2 * ns + 100;
  } while (result == -ETIMEDOUT);
}

static void wait_for(ws_pool_t *pool, sim_end_t end, goal_t *goal)
{
  static const sim_in_t in[] = {SIM_IN_WAIT, SIM_IN_WAIT, SIM_IN_AWAIT, SIM_IN_POOL_WAIT};
  sim_frame_t frame = {.in = in[end], .goal = goal ? goal->id : 0, .outer = *sim_stack()};
  *sim_stack() = &frame;
  sim_task_before_call();
  if (sim_scene->limits && end != SIM_END_EVENT)
    wait_with_limits(pool, end, goal, &frame);
  else if (end == SIM_END_GROUP || end == SIM_END_TAG)
    ws_group_wait(&goal->group, pool);
  else if (end == SIM_END_EVENT)
    ws_pool_await(pool, ws_group_tag(goal), &(ws_event_t){is_ready, sleep_until_ready, goal});
  else if (end == SIM_END_POOL)
    ws_pool_wait(pool);
  *sim_stack() = frame.outer;
}

/// How this burst's tasks are waited for: an abort skips tasks, which then complete nothing themselves, and
/// tasks that wait for their pool would wait for themselves.
static sim_end_t end_of(const sim_burst_t *burst, uint32_t pool, uint32_t depth)
{
  const bool outermost = depth == burst->depth;
  if (!outermost && burst->kind == SIM_TASK_SPAWN)
    return SIM_END_NOTHING;
  if ((burst->end == SIM_END_TAG || burst->end == SIM_END_EVENT) && sim_scene->pool[pool].aborts)
    return SIM_END_GROUP;
  const bool across = burst->kind == SIM_TASK_CROSS && burst->end == SIM_END_POOL;
  return !outermost && burst->end >= SIM_END_POOL && !across ? SIM_END_GROUP : burst->end;
}

/// @return the first of the tasks' records; SIM_RECORD_NONE: none was left, and nothing was pushed
static uint32_t push_family(const sim_burst_t *burst, uint32_t index, uint32_t depth, uint32_t count,
                            sim_end_t end, goal_t *goal, goal_t *earlier)
{
  const sim_record_t like = {.pool = index,
                             .depth = depth,
                             .burst = burst,
                             .goal = end == SIM_END_TAG || end == SIM_END_EVENT ? goal : NULL,
                             .waits_for = earlier,
                             .carried = end <= SIM_END_EVENT ? goal->id : 0};
  const uint32_t first = sim_record_take(&like, count);
  if (first != SIM_RECORD_NONE)
    push_all(&(family_t){sim_pool[index], burst, end, goal, first, count});
  return first;
}

/// Tasks of another group, and on top of them tasks without a group. The burst's tasks, which wait for that
/// group, occupy a worker each, and one must be left of those that could be created.
static goal_t *push_earlier(const sim_burst_t *burst, uint32_t index, uint32_t depth)
{
  if (burst->earlier == 0 || depth != burst->depth
      || sim_pool[index]->workers <= burst->count * sim_scene->actors)
    return NULL;
  goal_t *goal = new_goal(burst->earlier);
  if (!goal || push_family(burst, index, 0, burst->earlier, SIM_END_GROUP, goal, NULL) == SIM_RECORD_NONE)
    return NULL;
  push_family(burst, index, 0, 1 + burst->cover, SIM_END_NOTHING, NULL, NULL);
  return goal;
}

void sim_burst_run(const sim_burst_t *burst, uint32_t index, uint32_t depth)
{
  static const char *const names[] = {"a group's wait", "a tag's wait", "an event's wait", "a pool's wait"};
  const uint32_t count = depth == burst->depth ? burst->count : burst->fan;
  const sim_end_t end = end_of(burst, index, depth);
  goal_t *goal = sim_pool[index] ? new_goal(count) : NULL;
  goal_t *earlier = goal ? push_earlier(burst, index, depth) : NULL;
  const uint32_t first = goal ? push_family(burst, index, depth, count, end, goal, earlier) : SIM_RECORD_NONE;
  if (first == SIM_RECORD_NONE || end == SIM_END_NOTHING)
    return;
  if (burst->cover > 0)
    push_family(burst, index, 0, burst->cover, SIM_END_NOTHING, NULL, NULL);
  wait_for(sim_pool[index], end, goal);
  sim_record_check(first, count, names[end]);
  if (end == SIM_END_GROUP)
    free_goal(goal);
}
