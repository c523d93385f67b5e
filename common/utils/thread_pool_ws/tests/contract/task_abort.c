// SPDX-License-Identifier: BSD-3-Clause
/// @file task_abort.c
/// Shapes B, the end of a pool: it runs what is queued, joins its threads and frees everything.
#include "contract.h"

#include <sched.h>

static void abort_runs_what_is_queued(void)
{
  if (!contract_ours_only("the host's own may lose tasks that are still queued"))
    return;
  for (uint32_t round = 0; round < 50; round++) {
    tpool_t *pool = contract_pool(1 + (int)(round % 3));
    ws_au32_t runs = {0};
    for (uint32_t i = 0; i < 2000; i++)
      pushTpool(pool, (task_t){.func = count_job, .args = &runs});
    contract_end(pool);
    CU_ASSERT_EQUAL(ws_load_acquire(&runs), 2000);
  }
}

static void abort_runs_200000_queued_tasks(void)
{
  if (!contract_ours_only("the host's own may lose tasks that are still queued"))
    return;
  tpool_t *pool = contract_pool(4);
  static ws_au32_t runs;
  for (uint32_t i = 0; i < 200000; i++)
    pushTpool(pool, (task_t){.func = count_job, .args = &runs});
  contract_end(pool);
  CU_ASSERT_EQUAL(ws_load_acquire(&runs), 200000);
}

typedef struct {
  tpool_t *pool;
  ws_au32_t runs;
} parent_t;

static void count_child(void *parent)
{
  ws_add_acq_rel(&((parent_t *)parent)->runs, 1);
}

static void push_children(void *parent_arg)
{
  parent_t *parent = parent_arg;
  for (uint32_t i = 0; i < 3; i++)
    pushTpool(parent->pool, (task_t){.func = count_child, .args = parent});
  ws_add_acq_rel(&parent->runs, 1);
}

/// Tasks that queued tasks push while the pool ends run as well.
static void abort_runs_what_queued_tasks_push(void)
{
  if (!contract_ours_only("the host's own may lose tasks that are still queued"))
    return;
  for (uint32_t round = 0; round < 50; round++) {
    parent_t parent = {.pool = contract_pool(2)};
    for (uint32_t i = 0; i < 200; i++)
      pushTpool(parent.pool, (task_t){.func = push_children, .args = &parent});
    contract_end(parent.pool);
    CU_ASSERT_EQUAL(ws_load_acquire(&parent.runs), 800);
  }
}

static void abort_and_free(tpool_t *pool)
{
  abortTpool(pool);
  free(pool);
}

static void *let_later(void *gate)
{
  contract_sleep_ms(30);
  gate_let(gate, 1);
  return NULL;
}

/// abortTpool() joins: a task that runs has ended when it returns.
static void abort_waits_for_running_tasks(void)
{
  tpool_t *pool = contract_pool(1);
  threads_t threads = {.count = 0};
  gate_t gate;
  gate_init(&gate);
  pushTpool(pool, (task_t){.func = gate_job, .args = &gate});
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 1));
  threads_start(&threads, let_later, &gate);
  abort_and_free(pool);
  CU_ASSERT_EQUAL(ws_load_acquire(&gate.left), 1);
  threads_join(&threads);
}

static void abort_of_inline_pools_and_of_one_worker(void)
{
  static char none[] = "n", empty[] = "";
  tpool_t *pool = contract_memory();
  initTpool(none, pool, false);
  abort_and_free(pool);
  pool = contract_memory();
  initTpool(empty, pool, false);
  abort_and_free(pool);
  for (uint32_t round = 0; round < 20; round++)
    abort_and_free(contract_pool(1));
}

static void abort_of_idle_workers(void)
{
  if (!contract_ours_only("the host's own may hand its end to a worker that has ended, and hang"))
    return;
  for (int round = 0; round < 40; round++)
    abort_and_free(contract_pool(2 + round % 20));
}

/// The same tpool_t serves again after its end.
static void pool_starts_again_after_its_abort(void)
{
  static char params[] = "-1";
  tpool_t *pool = contract_memory();
  for (uint32_t round = 0; round < 50; round++) {
    ws_au32_t runs = {0};
    batch_t batch;
    initTpool(params, pool, false);
    batch_begin(&batch, 20);
    for (uint32_t i = 0; i < 20; i++)
      batch_push(&batch, pool, count_job, &runs);
    batch_end(&batch, pool);
    CU_ASSERT_EQUAL(ws_load_acquire(&runs), 20);
    abortTpool(pool);
  }
  free(pool);
}

/// The radio unit's thread of the host goes on while its pool is ended.
typedef struct {
  tpool_t *pool;
  ws_au32_t runs, pushed, stop;
} pusher_t;

static void *push_until_told(void *pusher_arg)
{
  pusher_t *pusher = pusher_arg;
  while (!ws_load_acquire(&pusher->stop)) {
    batch_t batch;
    batch_begin(&batch, 4);
    for (uint32_t i = 0; i < 4; i++)
      batch_push(&batch, pusher->pool, count_job, &pusher->runs);
    batch_end(&batch, pusher->pool);
    ws_add_acq_rel(&pusher->pushed, 4);
  }
  return NULL;
}

static void abort_while_a_thread_pushes_and_joins(void)
{
  if (!contract_ours_only("the host's own frees its queues under a thread that pushes"))
    return;
  for (uint32_t round = 0; round < 80; round++) {
    pusher_t pusher = {.pool = contract_pool(2)};
    threads_t threads = {.count = 0};
    threads_start(&threads, push_until_told, &pusher);
    while (ws_load_acquire(&pusher.pushed) < 4 * (round % 8))
      sched_yield();
    abortTpool(pusher.pool);
    ws_store_release(&pusher.stop, 1);
    threads_join(&threads);
    CU_ASSERT_EQUAL(ws_load_acquire(&pusher.runs), ws_load_acquire(&pusher.pushed));
    free(pusher.pool);
  }
}

const contract_case_t task_abort_cases[] = {
    CASE(abort_runs_what_is_queued),
    CASE(abort_runs_200000_queued_tasks),
    CASE(abort_runs_what_queued_tasks_push),
    CASE(abort_waits_for_running_tasks),
    CASE(abort_of_inline_pools_and_of_one_worker),
    CASE(abort_of_idle_workers),
    CASE(pool_starts_again_after_its_abort),
    CASE(abort_while_a_thread_pushes_and_joins),
    CASES_END,
};
