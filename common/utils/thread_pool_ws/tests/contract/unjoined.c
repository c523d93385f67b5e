// SPDX-License-Identifier: BSD-3-Clause
/// @file unjoined.c
/// Every shape, jobs that no thread joins and that push themselves again.
#include "contract.h"

enum { STARTS_MAX = 32 };

static ws_au32_t next;
static uint32_t order[STARTS_MAX];

/// On the one worker.
static void note(uint32_t id)
{
  order[ws_load_relaxed(&next) % STARTS_MAX] = id;
  ws_add_acq_rel(&next, 1);
}

typedef struct {
  tpool_t *pool;
  uint32_t id, again;
  gate_t *gate;
} work_t;

#if CONTRACT_TASKS
#define WORK(arg) ((work_t *)(arg))
#else
#define WORK(arg) (*(work_t **)(arg))
#endif

static void push(void (*func)(void *), work_t *work)
{
#if CONTRACT_TASKS
  pushTpool(work->pool, (task_t){.func = func, .args = work});
#else
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(work_t *), work->id, NULL, func);
  *(work_t **)NotifiedFifoData(elt) = work;
  pushTpool(work->pool, elt);
#endif
}

static void run_once(void *arg)
{
  note(WORK(arg)->id);
}

/// "Estimates not ready, try later", at most twice.
static void try_later(void *arg)
{
  work_t *work = WORK(arg);
  note(work->id);
  if (work->again-- > 0)
    push(try_later, work);
}

static void wait_at_gate(void *arg)
{
  gate_job(WORK(arg)->gate);
}

static bool have_started(void *count)
{
  return ws_load_acquire(&next) == *(const uint32_t *)count;
}

/// One worker. Its first job holds it until the @p jobs, of four works, are queued. Then they start in the
/// order @p expected.
static void check_order(void (*const jobs[4])(void *), const uint32_t *expected, uint32_t count)
{
  static gate_t gate;
  static work_t work[5];
  tpool_t *pool = contract_pool(1);
  gate_init(&gate);
  for (uint32_t i = 0; i < 5; i++)
    work[i] = (work_t){.pool = pool, .id = i, .gate = &gate, .again = 2};
  push(wait_at_gate, &work[4]);
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 1));
  for (uint32_t i = 0; i < 4; i++)
    push(jobs[i], &work[i]);
  gate_let(&gate, 1);
  CU_ASSERT_TRUE_FATAL(contract_until(have_started, &count));
  for (uint32_t i = 0; i < count; i++)
    CU_ASSERT_EQUAL(order[i], expected[i]);
  contract_end(pool);
}

/// The other jobs that were queued run in between.
static void a_job_that_pushes_itself_goes_behind(void)
{
  static void (*const jobs[])(void *) = {try_later, run_once, run_once, run_once};
  static const uint32_t expected[] = {0, 1, 2, 3, 0, 0};
  check_order(jobs, expected, 6);
}

/// Two of them, and one that is pushed by another job meanwhile: each goes behind the other.
static void jobs_that_push_themselves_take_turns(void)
{
  static void (*const jobs[])(void *) = {try_later, try_later, run_once, run_once};
  static const uint32_t expected[] = {0, 1, 2, 3, 0, 1, 0, 1};
  check_order(jobs, expected, 8);
}

const contract_case_t unjoined_cases[] = {
    CASE(a_job_that_pushes_itself_goes_behind),
    CASE(jobs_that_push_themselves_take_turns),
    CASES_END,
};
