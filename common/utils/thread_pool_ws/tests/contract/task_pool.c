// SPDX-License-Identifier: BSD-3-Clause
/// @file task_pool.c
/// Shapes B, pushes: inline mode, no bound on what is queued, pushes from tasks, the worker's number.
#include <stdio.h>

#include "contract.h"

typedef struct {
  ws_au32_t *runs;
  pthread_t thread;
  sem_t *last;
  uint32_t total;
} task_arg_t;

static void run_task(void *task_arg)
{
  task_arg_t *arg = task_arg;
  arg->thread = pthread_self();
  if (ws_add_acq_rel(arg->runs, 1) + 1 == arg->total)
    sem_post(arg->last);
}

static void check_inline(const char *params)
{
  char text[8];
  strcpy(text, params);
  tpool_t *pool = contract_memory();
  initTpool(text, pool, true);
  ws_au32_t runs = {0};
  for (uint32_t i = 0; i < 10; i++) {
    task_arg_t arg = {.runs = &runs};
    pushTpool(pool, (task_t){.func = run_task, .args = &arg});
    CU_ASSERT_EQUAL(ws_load_relaxed(&runs), i + 1);
    CU_ASSERT_TRUE(pthread_equal(arg.thread, pthread_self()));
  }
  abortTpool(pool);
  free(pool);
}

static void inline_push_runs_before_it_returns(void)
{
  check_inline("n");
  check_inline("N");
  check_inline("");
  tpool_t *none = contract_pool(0);
  ws_au32_t runs = {0};
  task_arg_t arg = {.runs = &runs};
  pushTpool(none, (task_t){.func = run_task, .args = &arg});
  CU_ASSERT_EQUAL(ws_load_relaxed(&runs), 1);
  contract_end(none);
}

/// No bound: 200000 tasks from one thread while both workers stand still, and no wait among them.
static void push_takes_any_number(void)
{
  enum { TASKS = 200000 };
  tpool_t *pool = contract_pool(2);
  static ws_au32_t runs;
  static gate_t gate;
  sem_t last;
  sem_init(&last, 0, 0);
  gate_init(&gate);
  for (uint32_t i = 0; i < 2; i++)
    pushTpool(pool, (task_t){.func = gate_job, .args = &gate});
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 2));
  task_arg_t *arg = calloc(TASKS, sizeof(*arg));
  for (uint32_t i = 0; i < TASKS; i++) {
    arg[i] = (task_arg_t){.runs = &runs, .last = &last, .total = TASKS};
    pushTpool(pool, (task_t){.func = run_task, .args = &arg[i]});
  }
  CU_ASSERT_EQUAL(ws_load_acquire(&runs), 0); // none ran here
  gate_let(&gate, 2);
  CU_ASSERT_TRUE(contract_sem_wait(&last));
  CU_ASSERT_EQUAL(ws_load_acquire(&runs), TASKS);
  contract_end(pool);
  free(arg);
}

/// The task and its struct are the caller's only until pushTpool() returns; what args points to is longer.
static void task_is_taken_by_value(void)
{
  tpool_t *pool = contract_pool(2);
  static ws_au32_t runs;
  static task_arg_t arg[100];
  sem_t last;
  sem_init(&last, 0, 0);
  task_t task;
  for (uint32_t i = 0; i < 100; i++) {
    arg[i] = (task_arg_t){.runs = &runs, .last = &last, .total = 100};
    task = (task_t){.func = run_task, .args = &arg[i]};
    pushTpool(pool, task);
    memset(&task, 0xDD, sizeof(task));
  }
  CU_ASSERT_TRUE(contract_sem_wait(&last));
  contract_end(pool);
}

#define TREE_DEPTH 12
typedef struct {
  tpool_t *pool;
  ws_au32_t nodes;
  sem_t last;
} tree_t;
typedef struct {
  tree_t *tree;
  uint32_t depth;
} branch_t;

/// A task that pushes two more and waits for none.
static void grow(void *branch_arg)
{
  branch_t *branch = branch_arg;
  tree_t *tree = branch->tree;
  for (uint32_t i = 0; branch->depth > 0 && i < 2; i++) {
    branch_t *child = malloc(sizeof(*child));
    *child = (branch_t){.tree = tree, .depth = branch->depth - 1};
    pushTpool(tree->pool, (task_t){.func = grow, .args = child});
  }
  free(branch);
  if (ws_add_acq_rel(&tree->nodes, 1) + 1 == (2u << TREE_DEPTH) - 1)
    sem_post(&tree->last);
}

static void tasks_push_tasks(void)
{
  for (int workers = 1; workers <= 3; workers++) {
    tree_t tree = {.pool = contract_pool(workers)};
    sem_init(&tree.last, 0, 0);
    branch_t *root = malloc(sizeof(*root));
    *root = (branch_t){.tree = &tree, .depth = TREE_DEPTH};
    pushTpool(tree.pool, (task_t){.func = grow, .args = root});
    CU_ASSERT_TRUE(contract_sem_wait(&tree.last));
    contract_end(tree.pool);
  }
}

/// Two tasks that meet need two workers at once: a push wakes another worker although one is awake.
static void tasks_run_at_the_same_time(void)
{
  if (!contract_ours_only("the host's own may queue a task behind one that blocks"))
    return;
  tpool_t *pool = contract_pool(2);
  static gate_t gate;
  gate_init(&gate);
  for (uint32_t round = 0; round < 300; round++) {
    pushTpool(pool, (task_t){.func = gate_job, .args = &gate});
    pushTpool(pool, (task_t){.func = gate_job, .args = &gate});
    CU_ASSERT_TRUE_FATAL(gate_await(&gate, 2));
    gate_let(&gate, 2);
  }
  contract_end(pool);
}

#ifdef CONTRACT_SHAPE_B2PLUS
enum { INDEX_WORKERS = 5 };
typedef struct {
  gate_t gate;
  ws_au32_t seen[INDEX_WORKERS], outside;
} numbers_t;

static void note_number(void *numbers_arg)
{
  numbers_t *numbers = numbers_arg;
  const int index = get_tpool_worker_index();
  if (index < 0 || index >= INDEX_WORKERS)
    ws_add_acq_rel(&numbers->outside, 1);
  else
    ws_add_acq_rel(&numbers->seen[index], 1);
  gate_job(&numbers->gate);
}

static void *number_here(void *number)
{
  *(int *)number = get_tpool_worker_index();
  return NULL;
}

static void worker_index_is_the_workers_own(void)
{
  static numbers_t numbers;
  gate_init(&numbers.gate);
  tpool_t *pool = contract_pool(INDEX_WORKERS);
  CU_ASSERT_EQUAL(get_tpool_worker_index(), -1);
  for (uint32_t i = 0; i < INDEX_WORKERS; i++)
    pushTpool(pool, (task_t){.func = note_number, .args = &numbers});
  CU_ASSERT_TRUE(gate_await(&numbers.gate, INDEX_WORKERS));
  gate_let(&numbers.gate, INDEX_WORKERS);
  CU_ASSERT_EQUAL(ws_load_acquire(&numbers.outside), 0);
  for (uint32_t i = 0; i < INDEX_WORKERS; i++)
    CU_ASSERT_EQUAL(ws_load_acquire(&numbers.seen[i]), 1);
  int elsewhere = 7;
  threads_t threads = {.count = 0};
  threads_start(&threads, number_here, &elsewhere);
  threads_join(&threads);
  CU_ASSERT_EQUAL(elsewhere, -1);
  contract_end(pool);
  CU_ASSERT_EQUAL(get_tpool_worker_index(), -1);
}
#endif

const contract_case_t task_pool_cases[] = {
    CASE(inline_push_runs_before_it_returns),
    CASE(push_takes_any_number),
    CASE(task_is_taken_by_value),
    CASE(tasks_push_tasks),
    CASE(tasks_run_at_the_same_time),
#ifdef CONTRACT_SHAPE_B2PLUS
    CASE(worker_index_is_the_workers_own),
#endif
    CASES_END,
};
