// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_answers.c
/// Scenarios of the shapes B, where tasks answer to who joins. Compiled once for each of them.
#include "common/utils/threadPool/task_ans.h"
#include "sim_shape.h"

#define GOALS_MAX 8192u
#define PADDING 3u ///< completions by the thread that pushes

/// What a burst's tasks answer to, and how they complete it (sim_burst_t.end, outermost tasks only): GROUP
/// each completes one; EVENT the thread that pushes completes some, too; NOTHING there is no join. In B1: TAG
/// the join is in two halves. In B2: TAG the last one that runs completes all of them; POOL the thread arms
/// another answer in between.
typedef struct {
  uint32_t id;
  sim_end_t end;
  uint32_t tasks, left;
  uint32_t first; ///< record
  task_ans_t *answers; ///< NULL = tasks without an answer
  task_ans_t *other; ///< B2, POOL
} goal_t;

#ifdef SIM_ANSWERS_COUNT // B2: one answer, which counts

static task_ans_t *new_answer(uint32_t jobs)
{
  task_ans_t *answer = sim_heap_memalign(LEVEL1_DCACHE_LINESIZE, sizeof(*answer));
  init_task_ans(answer, jobs);
  return answer;
}

static void arm_answers(goal_t *goal)
{
  goal->answers = new_answer(goal->tasks + (goal->end == SIM_END_EVENT ? PADDING : 0));
  if (goal->end == SIM_END_POOL)
    goal->other = new_answer(1);
}

static void complete(goal_t *goal, uint32_t task)
{
  if (goal->end != SIM_END_TAG)
    completed_task_ans(goal->answers);
  else if (__atomic_fetch_sub(&goal->left, 1, __ATOMIC_ACQ_REL) == 1)
    completed_many_task_ans(goal->answers, goal->tasks);
}

/// An answer of no jobs, and one that was zeroed and never armed, are joined at once.
static void join_trivial(void)
{
  task_ans_t *answer = sim_heap_calloc(1, sizeof(*answer));
  join_task_ans(answer);
  init_task_ans(answer, 0);
  join_task_ans(answer);
  sim_heap_free(answer);
}

static void join_answers(goal_t *goal)
{
  if (goal->end == SIM_END_EVENT)
    completed_many_task_ans(goal->answers, PADDING);
  if (goal->id % 16 == 0)
    join_trivial();
  join_task_ans(goal->answers);
  sim_heap_free(goal->answers);
  if (!goal->other)
    return;
  completed_task_ans(goal->other);
  join_task_ans(goal->other);
  sim_heap_free(goal->other);
}

#else // B1: an answer a task

static void arm_answers(goal_t *goal)
{
  goal->answers = sim_heap_calloc(goal->tasks + 1, sizeof(task_ans_t));
}

static void complete(goal_t *goal, uint32_t task)
{
  completed_task_ans(&goal->answers[task]);
}

static void join_answers(goal_t *goal)
{
  const uint32_t half = goal->end == SIM_END_TAG ? goal->tasks / 2 : 0;
  if (goal->end == SIM_END_EVENT)
    completed_task_ans(&goal->answers[goal->tasks]);
  if (goal->end == SIM_END_TAG)
    join_task_ans(goal->answers, half);
  join_task_ans(goal->answers + half, goal->tasks - half + (goal->end == SIM_END_EVENT));
  sim_heap_free(goal->answers);
}

#endif

/// Aligned: which of their words share a line must not depend on the linker.
static _Alignas(64) goal_t goals[GOALS_MAX];
static uint32_t goals_used;

static void make(uint32_t index)
{
  make_tpool(index, false);
  if (tpool[index].len_thr != sim_scene->pool[index].workers)
    sim_finding("a pool of %u threads says %zu", sim_scene->pool[index].workers, tpool[index].len_thr);
}

/// Tasks whose push has returned before the abort: they have run when it returns.
static void check_drained(uint32_t index, uint32_t end, const bool *pushed)
{
  for (uint32_t i = 0; i < end; i++)
    if (pushed[i] && sim_record[i].pool == index && sim_record[i].state != SIM_RECORD_DONE)
      sim_finding("an abort returned before task %u was done (state %d)", i, (int)sim_record[i].state);
}

static void abort_pool(uint32_t index)
{
  abortTpool(&tpool[index]);
}

static void stop(uint32_t index)
{
  const uint32_t end = sim_records;
  bool *pushed = calloc(end + 1, sizeof(bool));
  for (uint32_t i = 0; i < end; i++)
    pushed[i] = sim_record[i].accepted;
  sim_shim_abort(index, abort_pool);
  check_drained(index, end, pushed);
  free(pushed);
  if (tpool[index].len_thr != 0)
    sim_finding("after the abort a pool says that it has %zu threads", tpool[index].len_thr);
}

static void run(sim_record_t *record)
{
  goal_t *goal = record->goal;
  sim_task_run(record, NULL);
  sim_task_before_call();
  if (goal)
    complete(goal, (uint32_t)(record - sim_record) - goal->first);
}

// The shim judges each function by the answers that its tasks complete.
static void run_alike(void *record)
{
  run(record);
}

static void run_unlike(void *record)
{
  run(record);
}

static void push_one(sim_record_t *record, bool is_last)
{
  const task_t task = {.args = record, .func = record->burst->end == SIM_END_POOL ? run_unlike : run_alike};
  tpool_t *pool = &tpool[record->pool];
  const size_t threads = pool->len_thr;
  if (threads != 0 && threads != sim_scene->pool[record->pool].workers)
    sim_finding("a pool of %u threads says %zu", sim_scene->pool[record->pool].workers, threads);
#ifdef WS_OAI_PUSH_BATCH
  if (record->burst->by == SIM_BY_BATCH && record->burst->kind != SIM_TASK_CROSS) {
    pushTpool_batch(pool, task, is_last);
    return;
  }
#endif
  if (record->burst->by == SIM_BY_TRY && threads == 0)
    task.func(task.args);
  else
    pushTpool(pool, task);
}

static void push_all(uint32_t first, uint32_t count)
{
  for (uint32_t i = first; i < first + count; i++) {
    sim_task_before_call();
    push_one(&sim_record[i], i + 1 == first + count);
    sim_record_answer(&sim_record[i], true);
  }
}

/// Inside a task: with an answer of its own kind, or none at all.
static sim_end_t end_of(const sim_burst_t *burst, uint32_t depth)
{
  if (depth == burst->depth)
    return burst->end;
  if (burst->kind == SIM_TASK_SPAWN)
    return SIM_END_NOTHING;
  // the second join of a B1 thread helps with nothing
  const bool in_halves = burst->end == SIM_END_TAG && sim_scene->shape == SIM_SHAPE_ARRAY;
  return burst->end > SIM_END_EVENT || in_halves ? SIM_END_GROUP : burst->end;
}

static goal_t *arm(const sim_burst_t *burst, uint32_t depth, uint32_t count)
{
  goal_t *goal = &goals[goals_used++];
  *goal = (goal_t){.id = goals_used, .end = end_of(burst, depth), .tasks = count, .left = count};
  if (goal->end != SIM_END_NOTHING || depth == burst->depth)
    arm_answers(goal);
  return goal;
}

/// @return whether a join runs tasks of the goal only
static bool is_exact(const goal_t *goal)
{
  return sim_scene->shape == SIM_SHAPE_COUNTER && goal->end != SIM_END_POOL;
}

static void join(goal_t *goal)
{
  sim_frame_t frame = {
      .in = is_exact(goal) ? SIM_IN_WAIT : SIM_IN_AWAIT, .goal = goal->id, .outer = *sim_stack()};
  *sim_stack() = &frame;
  sim_task_before_call();
  join_answers(goal);
  *sim_stack() = frame.outer;
  sim_record_check(goal->first, goal->tasks, "a join");
}

static void burst(const sim_burst_t *burst, uint32_t index, uint32_t depth)
{
  const uint32_t count = depth == burst->depth ? burst->count : burst->fan;
  if (!sim_shim_is_made(index) || goals_used == GOALS_MAX || sim_records + count > SIM_RECORDS_MAX)
    return;
  goal_t *goal = arm(burst, depth, count);
  const sim_record_t like = {.pool = index,
                             .depth = depth,
                             .burst = burst,
                             .goal = goal->answers ? goal : NULL,
                             .carried = goal->id};
  goal->first = sim_record_take(&like, count);
  push_all(goal->first, count);
  if (goal->end != SIM_END_NOTHING)
    join(goal);
}

static void end(void)
{
  sim_shim_end();
}

const sim_front_t sim_front_here = {
    .make = make,
    .stop = stop,
    .destroy = sim_shim_destroy,
    .hint = hint,
    .burst = burst,
    .look = sim_shim_look,
    .end = end,
};
