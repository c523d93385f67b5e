// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_joins.c
/// ws_joins.h.
#include "ws_joins.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "../../base/ws_atomic.h"
#include "ws_draw.h"

#define NODES_MAX 12288u
#define GOALS_MAX 2048u
#define THREADS_MAX 6u
#define LIVE_MAX 3u ///< threads at once
#define TASKS_MAX 1500u ///< that one act pushes
#define MANY 60u ///< an act with fewer tasks is a small one
#define COMPANIONS_MAX 100u ///< of a program
#define DEPTH_MAX 4u
#define NONE UINT32_MAX

typedef enum { OF_GROUP, OF_TAG, OF_WEAK, OF_EVENT, KINDS } kind_t;

typedef struct {
  ws_group_t group; ///< its address is the tag
  kind_t kind;
  uint32_t id; ///< of no other: memory on a stack is used again
  uint32_t pool; ///< of its tasks
  ws_au32_t left; ///< OF_EVENT: tasks that have not ended
  sem_t sem;
} goal_t;

typedef struct node_s node_t;
struct node_s { ///< a task
  const node_t *parent; ///< the task that pushed it; NULL = a thread did
  const node_t *inside; ///< the task in whose wait it runs; NULL = in none
  goal_t *goal; ///< NULL = unrelated
  uint32_t goal_id; ///< 0 = unrelated
  bool has_tag; ///< and completes its goal itself
  uint64_t random;
  uint32_t pool, tree, depth; ///< tree: the thread from which it descends; depth: of what it may push
  uint32_t budget; ///< tasks that it may push
  ws_au32_t begun, ended;
};

/// A pool that ends in its own task.
typedef struct {
  ws_pool_t *pool;
  sem_t stopped; ///< for each worker
} ender_t;

static struct {
  const ws_joins_host_t *host;
  uint64_t seed;
  uint32_t pools;
  bool is_free; ///< see ws_joins.h
  bool has_weak, has_null; ///< weak tags; waits with NULL as pool
  node_t node[NODES_MAX];
  goal_t goal[GOALS_MAX];
  ender_t ender[THREADS_MAX];
  ws_au32_t nodes, goals, ids, waits, companions;
  ws_au32_t outermost[THREADS_MAX]; ///< index + 1 of the thread's goal; 0 = none yet
  ws_au32_t latest; ///< the same of any thread and task
} program;

/// Where a program is: in a task, or outside any.
typedef struct {
  const node_t *node; ///< NULL = outside
  uint32_t pool, tree, depth;
} place_t;

/// What the thread is in the middle of: the goal of its innermost wait, NULL in a task; and that task.
static _Thread_local const goal_t *waits_for;
static _Thread_local const node_t *runs;

static ws_pool_t *pool_of(uint32_t index)
{
  return program.host->pool[index];
}

uint32_t ws_joins_pools(uint64_t seed)
{
  return one_in(&seed, 3) ? 2 : 1;
}

void ws_joins_settings(uint64_t seed, uint32_t pool, ws_settings_t *settings)
{
  static const uint32_t capacity[] = {2, 4, 16, 64, 1024, 1024};
  uint64_t random = seed + 1 + pool;
  ws_settings_default(settings);
  settings->workers = one_in(&random, 3) ? WS_JOINS_WORKERS_MAX : 1;
  settings->lanes = below(&random, 4);
  settings->queue_capacity = capacity[below(&random, 6)];
  settings->fifo = one_in(&random, 4);
  settings->spin = one_in(&random, 2) ? WS_SPIN_OFF : WS_SPIN_AUTO;
  settings->spin_ns_max = settings->join_spin_ns_max = one_in(&random, 4) ? 20000 : 0;
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Waits.

static bool is_ready(void *goal)
{
  return ws_load_acquire(&((goal_t *)goal)->left) == 0;
}

static void sleep_until_ready(void *goal)
{
  sem_wait(&((goal_t *)goal)->sem);
}

/// Again and again, each time for twice as long.
static void wait_with_limits(goal_t *goal, ws_pool_t *pool, uint64_t ns)
{
  int result;
  do {
    const uint64_t until_ns = now_ns() + ns;
    ws_add_relaxed(&program.waits, 1);
    result = ws_group_wait_until(&goal->group, pool, until_ns);
    if (result == -ETIMEDOUT && now_ns() < until_ns)
      program.host->wrong("a wait has returned before its time limit");
    ns = 2 * ns + 1000;
  } while (result == -ETIMEDOUT);
}

/// A task that blocks, and runs nothing meanwhile.
static void hold(const goal_t *goal)
{
  for (uint32_t times = 0; !ws_group_done(&goal->group); times++)
    program.host->rest(times);
}

/// @param owns  the caller has pushed the goal's tasks
static void wait_for(const place_t *at, goal_t *goal, uint64_t *random, bool owns)
{
  const bool may_name_none = !owns || (at->node ? goal->pool == at->pool : program.is_free);
  const bool is_null = one_in(random, 3) && may_name_none && program.has_null;
  ws_pool_t *pool = is_null ? NULL : pool_of(goal->pool);
  const goal_t *outer = waits_for;
  const uint32_t way = below(random, 8);
  ws_add_relaxed(&program.waits, 1);
  if (goal->kind == OF_EVENT) {
    ws_pool_await(pool, ws_group_tag(goal), &(ws_event_t){is_ready, sleep_until_ready, goal});
    return;
  }
  waits_for = goal;
  if (way == 0)
    wait_with_limits(goal, pool, below(random, 20000));
  else if (way < 4 && !owns && at->node)
    hold(goal);
  else
    ws_group_wait(&goal->group, pool);
  waits_for = outer;
  if (!ws_group_done(&goal->group))
    program.host->wrong("a wait has returned before its group was complete");
}

/// @param number  index + 1. Not for an event: it has one wait
static void wait_for_other(const place_t *at, const ws_au32_t *number, uint64_t *random)
{
  const uint32_t index = ws_load_acquire(number);
  if (index > 0)
    wait_for(at, &program.goal[index - 1], random, false);
}

// Tasks.

static bool belongs(const node_t *node, const goal_t *goal);

/// @return whether the task has run in a wait of a task that belongs to the goal, or in a wait inside that
static bool ran_inside(const node_t *node, const goal_t *goal)
{
  return node->inside && (belongs(node->inside, goal) || ran_inside(node->inside, goal));
}

/// @return whether a task may run in a wait: it is the goal's, or was pushed by one that may, or by one that
///         ran inside such a task. A task that carried a tag of this address for another goal, and has
///         completed that, perhaps has not returned yet (ws_group_tag())
static bool belongs(const node_t *node, const goal_t *goal)
{
  return node
         && (node->goal_id == goal->id || (node->has_tag && node->goal == goal) || belongs(node->parent, goal)
             || (node->parent && ran_inside(node->parent, goal)));
}

static void acts(const place_t *at, uint64_t *random, uint32_t budget);

static void run_node(void *node_arg)
{
  node_t *node = node_arg;
  goal_t *goal = node->goal;
  const goal_t *outer = waits_for;
  const place_t at = {node, node->pool, node->tree, node->depth};
  if (ws_add_relaxed(&node->begun, 1) > 0)
    program.host->wrong("a task runs twice");
  program.host->begins(node->pool);
  if (outer && !belongs(node, outer))
    program.host->wrong("a wait for a group runs an unrelated task");
  node->inside = runs;
  runs = node;
  waits_for = NULL;
  if (one_in(&node->random, 4))
    program.host->work(draw(&node->random));
  if (!program.is_free && node->tree + 1 < THREADS_MAX && one_in(&node->random, 6)) {
    const uint32_t tree = node->tree + 1 + below(&node->random, THREADS_MAX - 1 - node->tree);
    wait_for_other(&at, &program.outermost[tree], &node->random);
  }
  if (node->budget > 0)
    acts(&at, &node->random, node->budget);
  runs = node->inside;
  waits_for = outer;
  ws_store_release(&node->ended, 1);
  if (goal && goal->kind == OF_EVENT) {
    if (ws_sub_acq_rel(&goal->left, 1) == 1)
      sem_post(&goal->sem);
  } else if (goal && goal->kind != OF_GROUP) {
    ws_group_complete(&goal->group, 1); // from here on it may be gone
  }
}

/// What an act pushes.
typedef struct {
  uint32_t before, count, after; ///< unrelated tasks, the goal's, unrelated ones
  uint32_t share; ///< budget of each of the goal's
  ws_priority_t priority[2]; ///< of the goal's, of unrelated ones
  bool mixes; ///< priorities of both are drawn for each
} plan_t;

static ws_priority_t draw_priority(uint64_t *random)
{
  return one_in(random, 3) ? WS_PRIORITY_NORMAL : (ws_priority_t)below(random, WS_PRIORITY_LOW + 1);
}

static void push(const place_t *at, node_t *node, uint64_t *random, const plan_t *plan)
{
  goal_t *goal = node->goal;
  node->parent = at->node;
  node->tree = at->tree;
  node->depth = at->depth > 0 ? at->depth - 1 : 0;
  node->random = draw(random);
  ws_task_t task = {.func = run_node, .arg = node, .priority = plan->priority[!goal]};
  if (plan->mixes)
    task.priority = draw_priority(random);
  if (goal)
    task.group = goal->kind == OF_GROUP  ? &goal->group
                 : goal->kind == OF_WEAK ? ws_group_weak_tag(goal)
                                         : ws_group_tag(goal);
  if (program.host->push(pool_of(node->pool), task) != 0)
    program.host->wrong("a push was refused");
}

static plan_t draw_plan(uint32_t depth, uint64_t *random, uint32_t budget)
{
  plan_t plan = {.priority = {draw_priority(random), draw_priority(random)}, .mixes = one_in(random, 4)};
  if (one_in(random, 3))
    plan = (plan_t){.priority = {WS_PRIORITY_NORMAL, WS_PRIORITY_NORMAL}};
  const uint32_t few = 1 + below(random, budget < 4 ? budget : 4), rest = budget - few;
  plan.count = few;
  const uint32_t form = budget >= MANY ? below(random, 5) : 4;
  if (form == 0 && depth > 0) { // a task has them all
    plan.share = rest / few;
  } else if (form == 1) { // under many others
    plan.before = below(random, 3);
    plan.after = rest - plan.before;
  } else if (form == 2) { // between many others
    plan.before = plan.after = budget / 3;
    plan.count = budget / 3;
  } else if (form == 3) { // many
    plan.before = below(random, 3);
    plan.count = budget - plan.before;
  } else {
    plan.before = one_in(random, 3) ? below(random, 1 + (rest < 3 ? rest : 3)) : 0;
    plan.after = one_in(random, 3) ? below(random, 1 + (rest < 4 ? rest : 4) - plan.before) : 0;
    plan.share = depth > 0 ? (rest - plan.before - plan.after) / few : 0;
  }
  return plan;
}

static node_t *take_nodes(uint32_t count)
{
  const uint32_t first = ws_add_relaxed(&program.nodes, count);
  return first + count <= NODES_MAX ? &program.node[first] : NULL;
}

/// A goal that other threads may wait for, too, so that its memory is not used again.
static goal_t *take_goal(void)
{
  const uint32_t index = ws_add_relaxed(&program.goals, 1);
  return index < GOALS_MAX ? &program.goal[index] : NULL;
}

static void publish(const place_t *at, const goal_t *goal)
{
  const uint32_t number = (uint32_t)(goal - program.goal) + 1;
  ws_store_release(&program.latest, number);
  if (!at->node)
    ws_store_release(&program.outermost[at->tree], number);
}

/// A thread outside that waits for a goal beside its owner, and ends.
typedef struct {
  place_t at;
  goal_t *goal;
  uint64_t random;
  pthread_t thread;
  bool runs;
} companion_t;

static void *accompany(void *companion_arg)
{
  companion_t *companion = companion_arg;
  wait_for(&companion->at, companion->goal, &companion->random, false);
  return NULL;
}

static void begin_companion(companion_t *companion, const place_t *at, goal_t *goal, uint64_t *random)
{
  companion->at = (place_t){.pool = at->pool, .tree = at->tree, .depth = at->depth};
  companion->goal = goal;
  companion->random = draw(random);
  companion->runs = goal->kind != OF_EVENT && ws_add_relaxed(&program.companions, 1) < COMPANIONS_MAX
                    && pthread_create(&companion->thread, NULL, accompany, companion) == 0;
}

static kind_t draw_kind(const place_t *at, uint64_t *random)
{
  const kind_t kind = one_in(random, 2) ? OF_GROUP : (kind_t)below(random, KINDS);
  return kind == OF_WEAK && !(program.has_weak && (at->node || program.is_free)) ? OF_TAG : kind;
}

/// Push, and wait.
static void act(const place_t *at, uint64_t *random, uint32_t budget)
{
  const plan_t plan = draw_plan(at->depth, random, budget);
  const uint32_t all = plan.before + plan.count + plan.after;
  const kind_t kind = draw_kind(at, random);
  goal_t mine, *goal = kind != OF_EVENT && one_in(random, 2) ? &mine : take_goal();
  node_t *node = take_nodes(all);
  if (!node || !goal)
    return;
  goal->kind = kind;
  goal->id = ws_add_relaxed(&program.ids, 1) + 1;
  goal->pool = one_in(random, 3) ? below(random, program.pools) : at->pool;
  ws_group_init(&goal->group, plan.count);
  if (kind == OF_EVENT) {
    ws_init_store(&goal->left, plan.count);
    sem_init(&goal->sem, 0, 0);
  }
  for (uint32_t i = 0; i < all; i++) {
    const bool is_of_goal = i >= plan.before && i - plan.before < plan.count;
    node[i].pool = is_of_goal || one_in(random, 2) ? goal->pool : at->pool;
    node[i].goal = is_of_goal ? goal : NULL;
    node[i].goal_id = is_of_goal ? goal->id : 0;
    node[i].has_tag = is_of_goal && goal->kind != OF_GROUP;
    node[i].budget = is_of_goal ? plan.share : one_in(random, 8) ? 1 : 0;
    push(at, &node[i], random, &plan);
  }
  if (goal != &mine && kind != OF_EVENT)
    publish(at, goal);
  companion_t companion = {.runs = false};
  if (one_in(random, plan.count >= MANY ? 1 : 16))
    begin_companion(&companion, at, goal, random);
  if (one_in(random, 2))
    program.host->work(draw(random));
  wait_for(at, goal, random, true);
  if (companion.runs) {
    ws_blocking_begin();
    pthread_join(companion.thread, NULL);
    ws_blocking_end();
  }
  for (uint32_t i = plan.before; i < plan.before + plan.count; i++)
    if (ws_load_acquire(&node[i].ended) != 1)
      program.host->wrong("a wait has returned before a task of its goal has ended");
}

/// Many unrelated tasks, and on top of them one small act after the other; or one act.
static void acts(const place_t *at, uint64_t *random, uint32_t budget)
{
  const uint32_t many = budget >= MANY && one_in(random, 5) ? budget / 2 : 0;
  node_t *node = many > 0 ? take_nodes(many) : NULL;
  const plan_t plan = {.priority = {0, one_in(random, 3) ? WS_PRIORITY_NORMAL : WS_PRIORITY_LOW}};
  for (uint32_t i = 0; node && i < many; i++) {
    node[i].pool = at->pool;
    push(at, &node[i], random, &plan);
  }
  for (uint32_t i = 0; node && i < many / 4; i++)
    act(at, random, 2);
  if (!node)
    act(at, random, budget);
}

// A pool that ends in its own task.

static void note_stop(void *ender, const ws_observation_t *observation)
{
  if (observation->what == WS_OBSERVED_STOP)
    sem_post(&((ender_t *)ender)->stopped);
}

static void destroy(void *ender)
{
  ws_pool_destroy(((ender_t *)ender)->pool);
}

static void do_nothing(void *unused) {}

static void end_own_pool(uint32_t tree, uint64_t *random)
{
  ender_t *ender = &program.ender[tree];
  ws_settings_t settings;
  ws_stats_t stats;
  ws_joins_settings(program.seed, 0, &settings);
  settings.observer = note_stop;
  settings.observer_arg = ender;
  sem_init(&ender->stopped, 0, 0);
  if (ws_pool_create(&ender->pool, &settings) < 0)
    return;
  ws_pool_stats(ender->pool, &stats, NULL, 0);
  for (uint32_t i = below(random, 4); i > 0; i--)
    program.host->push(ender->pool, (ws_task_t){.func = do_nothing});
  program.host->push(ender->pool, (ws_task_t){.func = destroy, .arg = ender});
  for (uint32_t i = 0; i < stats.workers; i++)
    while (sem_wait(&ender->stopped) != 0)
      continue;
}

// Threads outside.

static uint32_t draw_budget(bool is_small, uint64_t *random)
{
  return is_small            ? 1 + below(random, 40)
         : one_in(random, 2) ? TASKS_MAX
                             : MANY + below(random, TASKS_MAX - MANY);
}

static void *outside(void *tree_arg)
{
  const uint32_t tree = (uint32_t)(uintptr_t)tree_arg;
  uint64_t random = program.seed + tree * UINT64_C(0xD1B54A32D192ED03);
  place_t at = {.tree = tree, .depth = DEPTH_MAX};
  bool is_small = one_in(&random, 2);
  for (uint32_t left = 1 + below(&random, 4); left > 0; left--) {
    const uint32_t what = below(&random, 12);
    at.pool = below(&random, program.pools);
    if (what < 2)
      wait_for_other(&at, &program.latest, &random);
    else if (what == 2 && ws_pool_wait(pool_of(at.pool)) != 0)
      program.host->wrong("a wait for a pool has failed");
    else if (what == 3)
      end_own_pool(tree, &random);
    else if (what > 3)
      acts(&at, &random, draw_budget(is_small, &random));
    is_small |= what > 3; // one large act of a thread is enough
    program.host->work(draw(&random));
  }
  return NULL;
}

/// Of one pool after the other: unrelated tasks of the second wait for what they push to the first.
static void end_all(void)
{
  for (uint32_t i = 0; i < program.pools; i++)
    ws_pool_wait(pool_of(i));
  const uint32_t nodes = ws_load_relaxed(&program.nodes);
  for (uint32_t i = 0; i < nodes && nodes <= NODES_MAX; i++)
    if (ws_load_relaxed(&program.node[i].begun) != 1 || ws_load_relaxed(&program.node[i].ended) != 1)
      program.host->wrong("a task has not run");
}

ws_joins_count_t ws_joins_play(const ws_joins_host_t *host, uint64_t seed)
{
  pthread_t thread[THREADS_MAX];
  bool made[THREADS_MAX];
  memset(&program, 0, sizeof(program));
  program.host = host;
  program.pools = host->pool[1] ? 2 : 1;
  program.seed = seed;
  program.is_free = one_in(&seed, 2);
  program.has_weak = one_in(&seed, 2);
  program.has_null = one_in(&seed, 2);
  const uint32_t threads = 1 + below(&seed, THREADS_MAX);
  for (uint32_t i = 0; i < threads + LIVE_MAX; i++) {
    if (i >= LIVE_MAX && made[i - LIVE_MAX])
      pthread_join(thread[i - LIVE_MAX], NULL);
    if (i < threads)
      made[i] = pthread_create(&thread[i], NULL, outside, (void *)(uintptr_t)i) == 0;
  }
  end_all();
  return (ws_joins_count_t){ws_load_relaxed(&program.nodes), ws_load_relaxed(&program.waits)};
}
