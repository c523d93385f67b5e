// SPDX-License-Identifier: BSD-3-Clause
/// @file pools.c
/// Every shape: where a pool may stand, what a joiner sees and what it may run, and whose memory a batch is
/// in. Threads that come and go: stress/test_stress_joins.c.

#include "contract.h"

/// A pool may stand at any address that malloc() returns, inside another object; init may not read it.
CONTRACT_CASE(pool_anywhere_in_memory)
{
  enum { FILLS = 4 };
  static struct {
    uint64_t before;
    tpool_t pool;
    uint64_t after;
  } owner[FILLS];
  static char params[] = "-1,-1";
  CU_ASSERT_TRUE(_Alignof(tpool_t) <= _Alignof(max_align_t));
  for (int i = 0; i < FILLS; i++) {
    memset(&owner[i].pool, 85 * i, sizeof(owner[i].pool));
    owner[i].before = owner[i].after = 17;
    initTpool(params, &owner[i].pool, false);
    CU_ASSERT_TRUE(contract_runs(&owner[i].pool, 50));
    CU_ASSERT_TRUE(owner[i].before == 17 && owner[i].after == 17);
  }
}

typedef struct {
  batch_t batch;
  tpool_t *pool;
} joined_t;

static void *join_here(void *joined_arg)
{
  joined_t *joined = joined_arg;
  batch_end(&joined->batch, joined->pool);
  return NULL;
}

/// Before the pushes, or after them.
CONTRACT_CASE(another_thread_joins)
{
  static joined_t joined;
  joined.pool = contract_pool(2);
  ws_au64_t ran = {0};
  for (uint32_t round = 0; round < 200; round++) {
    test_threads_t threads = {0};
    batch_begin(&joined.batch, 4);
    if (round % 2)
      test_spawn(&threads, join_here, &joined);
    for (uint32_t i = 0; i < 4; i++)
      batch_push(&joined.batch, joined.pool, test_count_task, &ran);
    if (round % 2 == 0)
      test_spawn(&threads, join_here, &joined);
    test_join(&threads);
    CU_ASSERT_EQUAL(test_value(&ran), 4 * (round + 1));
  }
  contract_end(joined.pool);
}

enum { CELLS = 24 };
typedef struct {
  uint64_t in, out[4];
} cell_t;

static void fill_cell(void *cell_arg)
{
  cell_t *cell = cell_arg;
  for (uint64_t i = 0; i < 4; i++)
    cell->out[i] = cell->in * (i + 2);
}

/// Plain writes, both ways, by every job and not only by the last one. Some batches are of two pools.
/// @return words that are wrong
static __attribute__((noinline)) uint32_t fill_cells(batch_t *batch, tpool_t *const pool[2], uint64_t round)
{
  cell_t cell[CELLS];
  const uint32_t count = 1 + (uint32_t)round % CELLS;
  uint32_t wrong = 0;
  batch_begin(batch, count);
  for (uint32_t i = 0; i < count; i++) {
    cell[i].in = round * 100 + i + 1;
    batch_push(batch, pool[round % 4 == 3 ? i % 2 : 0], fill_cell, &cell[i]);
  }
  batch_end(batch, pool[0]);
  for (uint32_t i = 0; i < count; i++)
    for (uint64_t j = 0; j < 4; j++)
      wrong += cell[i].out[j] != (round * 100 + i + 1) * (j + 2);
  memset(batch, 0xDD, sizeof(*batch)); // dead: a worker that still touches it trips here
  __asm__ volatile("" ::"r"(batch) : "memory");
  return wrong;
}

/// Its memory is the caller's again when the join has returned: on the stack, on the heap, where a worker
/// that comes late meets the address sanitizer, or used again.
CONTRACT_CASE(what_jobs_wrote_is_there_and_the_batch_is_dead)
{
  tpool_t *const pool[] = {contract_pool(2), contract_pool(1)};
  static batch_t again;
  uint32_t wrong = 0;
  for (uint64_t round = 0; round < 6000; round++) {
    batch_t on_stack;
    void *on_heap = NULL;
    CU_ASSERT_EQUAL_FATAL(posix_memalign(&on_heap, 64, sizeof(batch_t)), 0);
    batch_t *const places[] = {&on_stack, on_heap, &again};
    wrong += fill_cells(places[round % 3], pool, round);
    free(on_heap);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(pool[0]);
  contract_end(pool[1]);
}

/// o, m, j: begin the others' batch, mine; O, M: push for the others, for mine; J: mine is a job that pushes
/// and joins
static const char *const meetings[] = {"oOmM", "mMoO", "omOM", "omMO", "moOM", "moMO", "oOjJ", "jJoO"};

static ws_au64_t ran; ///< of mine

static void push_and_join(void *pool)
{
  ws_add_acq_rel(&ran, contract_runs(pool, 3) ? 3 : 0);
}

/// The other batch's job blocks until the join has returned. A worker stands with it, so the joiner has every
/// reason to help. A thread that ran that job while it joins would never return.
CONTRACT_CASE(joiner_runs_no_unrelated_job)
{
  if (CONTRACT_TASKS && !contract_ours_only("the host's own may queue a task behind a job that blocks"))
    return;
  tpool_t *pool = contract_pool(3);
  TEST_GATE(gate);
  for (uint32_t round = 0; round < 300 * TEST_COUNT(meetings); round++) {
    batch_t others, mine;
    ran = (ws_au64_t){0};
    for (const char *step = meetings[round % TEST_COUNT(meetings)]; *step; step++) {
      if (*step == 'o')
        batch_begin(&others, 1);
      else if (*step == 'm' || *step == 'j')
        batch_begin(&mine, *step == 'm' ? 3 : 1);
      else if (*step == 'O')
        batch_push(&others, pool, test_gate_task, &gate);
      else if (*step == 'J')
        batch_push(&mine, pool, push_and_join, pool);
      for (uint32_t i = 0; *step == 'M' && i < 3; i++)
        batch_push(&mine, pool, test_count_task, &ran);
    }
    batch_end(&mine, pool);
    CU_ASSERT_EQUAL(test_value(&ran), 3);
    test_gate_let(&gate, 1);
    batch_end(&others, pool);
    CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  }
  contract_end(pool);
}

TEST_MAIN("pools")
