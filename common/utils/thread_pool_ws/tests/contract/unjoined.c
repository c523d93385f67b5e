// SPDX-License-Identifier: BSD-3-Clause
/// @file unjoined.c
/// Every shape, jobs that no thread joins: one that pushes itself again, and long background work beside
/// bursts (neighbour measurement, blind cell search).
#include "contract.h"

enum { SEARCHES = 6, SEGMENTS = 3, STARTS_MAX = 32 };

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

static ws_au32_t searching, most_searching;

/// A static function, as those of the host: named in the list of cores.
static void search_for_cells(void *arg)
{
  const uint32_t now = ws_add_acq_rel(&searching, 1) + 1;
  uint32_t seen = ws_load_acquire(&most_searching);
  while (now > seen && !ws_cas_acq_rel(&most_searching, &seen, now))
    ;
  wait_at_gate(arg);
  ws_sub_acq_rel(&searching, 1);
}

/// Searches that never end by themselves occupy one worker of four: the segments of a burst have the others,
/// and all of them run at once.
static void a_burst_starts_beside_limited_work(void)
{
  if (!contract_ours_only("the host's own has no limits"))
    return;
  static gate_t long_ones, segments;
  static work_t search[SEARCHES], segment[SEGMENTS];
  char text[] = "-1,-1,-1,-1,limit=search_for_cells:1";
  tpool_t *pool = contract_memory();
  initTpool(text, pool, false);
  gate_init(&long_ones);
  gate_init(&segments);
  for (uint32_t i = 0; i < SEARCHES; i++) {
    search[i] = (work_t){.pool = pool, .id = i, .gate = &long_ones};
    push(search_for_cells, &search[i]);
  }
  CU_ASSERT_TRUE(gate_await(&long_ones, 1));
  for (uint32_t i = 0; i < SEGMENTS; i++) {
    segment[i] = (work_t){.pool = pool, .id = i, .gate = &segments};
    push(wait_at_gate, &segment[i]);
  }
  CU_ASSERT_TRUE(gate_await(&segments, SEGMENTS)); // none of them has ended
  CU_ASSERT_EQUAL(ws_load_acquire(&searching), 1);
  gate_let(&segments, SEGMENTS);
  gate_let(&long_ones, SEARCHES);
  CU_ASSERT_TRUE(gate_await(&long_ones, SEARCHES - 1)); // the others have their turn
  CU_ASSERT_EQUAL(ws_load_acquire(&most_searching), 1);
  contract_end(pool);
}

const contract_case_t unjoined_cases[] = {
    CASE(a_job_that_pushes_itself_goes_behind),
    CASE(jobs_that_push_themselves_take_turns),
    CASE(a_burst_starts_beside_limited_work),
    CASES_END,
};
