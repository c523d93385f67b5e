// SPDX-License-Identifier: BSD-3-Clause
/// @file test_reduce_grain.c
/// ws_reduce.h: into which pieces a range is divided. Pieces, pushes and threads are counted.
///
/// The clock is virtual, and a piece takes exactly as long as the test says: threads that read the clock
/// meanwhile do not count. Linked with --wrap of ws_os_now_ns and ws_pool_push.
#include "../../../include/ws_reduce.h"
#include "../../support/ws_test.h"

static ws_au64_t clock_ns, element_ns;
static _Thread_local uint64_t read_ns, piece_ns; ///< the last reading; what the piece since then took

uint64_t __wrap_ws_os_now_ns(void);

uint64_t __wrap_ws_os_now_ns(void)
{
  read_ns = piece_ns > 0 ? read_ns + piece_ns : 1000000 + ws_add_relaxed(&clock_ns, 1);
  piece_ns = 0;
  return read_ns;
}

static void pass(uint64_t ns)
{
  ws_add_relaxed(&clock_ns, ns);
  piece_ns += ns;
}

static ws_au32_t pushes;

int __real_ws_pool_push(ws_pool_t *pool, ws_task_t task);
int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task);

int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task)
{
  ws_add_relaxed(&pushes, 1);
  return __real_ws_pool_push(pool, task);
}

static ws_au32_t pieces;
static ws_au64_t longest;

static void add(void *unused, uint64_t first, uint64_t end, void *sum)
{
  (void)unused;
  ws_add_relaxed(&pieces, 1);
  pass(1 + ws_load_relaxed(&element_ns) * (end - first));
  uint64_t most = ws_load_relaxed(&longest);
  while (end - first > most && !ws_cas_acq_rel(&longest, &most, end - first))
    ;
  for (uint64_t i = first; i < end; i++)
    *(uint64_t *)sum += i;
}

static void combine(void *unused, void *left, const void *right)
{
  (void)unused;
  *(uint64_t *)left += *(const uint64_t *)right;
}

static ws_reduce_t sum_of = {.piece = add, .combine = combine, .bytes = sizeof(uint64_t)};

static void begin(uint64_t grain, uint64_t ns)
{
  sum_of.grain = grain;
  ws_store_relaxed(&element_ns, ns);
  ws_store_relaxed(&pieces, 0);
  ws_store_relaxed(&pushes, 0);
  ws_store_relaxed(&longest, 0);
}

/// @return whether the sum is right
static bool reduces(ws_pool_t *pool, uint64_t count)
{
  uint64_t sum = 0;
  return ws_reduce(pool, &sum_of, 0, count, &sum) == 0 && sum == count * (count - 1) / 2;
}

/// Pieces take 10 us or more, and where that leaves many of them, each thread gets about 32. Each is called
/// in two parts, the first of which is timed.
static void the_grain_follows_the_cost(void)
{
  ws_pool_t *pool = test_pool(3);
  begin(0, 10000); // one element is enough
  CU_ASSERT_TRUE(reduces(pool, 1000));
  CU_ASSERT_TRUE(ws_load_relaxed(&longest) <= 1000 / (4 * 32));
  begin(0, 10);
  CU_ASSERT_TRUE(reduces(pool, 20000)); // 10 us are 1000 elements
  CU_ASSERT_TRUE(ws_load_relaxed(&longest) > 500 / 2);
  CU_ASSERT_TRUE(ws_load_relaxed(&longest) <= 1000);
  begin(0, 10);
  CU_ASSERT_TRUE(reduces(pool, 1000000));
  CU_ASSERT_TRUE(ws_load_relaxed(&pieces) >= 4 * 32);
  CU_ASSERT_TRUE(ws_load_relaxed(&pieces) <= 2 * (4 * 32 * 2) + 64);
  test_destroy(pool);
}

/// A range of fewer elements than a probe needs, or of few for each thread: long elements are single pieces.
static void long_elements_of_a_small_range(void)
{
  static const uint64_t counts[] = {2, 3, 12, 22, 63};
  for (uint32_t workers = 1; workers <= 7; workers += 2) {
    ws_pool_t *pool = test_pool(workers);
    for (uint32_t i = 0; i < TEST_COUNT(counts); i++) {
      begin(0, 6000);
      CU_ASSERT_TRUE(reduces(pool, counts[i]));
      CU_ASSERT_EQUAL(ws_load_relaxed(&pieces), counts[i]);
    }
    test_destroy(pool);
  }
  ws_pool_t *pool = test_pool(31);
  begin(0, 28000);
  CU_ASSERT_TRUE(reduces(pool, 8 * 32 - 1));
  CU_ASSERT_EQUAL(ws_load_relaxed(&pieces), 8 * 32 - 1);
  test_destroy(pool);
}

/// There short elements cost fewer than two pushes for each thread.
static void short_elements_of_a_small_range(void)
{
  for (uint32_t workers = 1; workers <= 7; workers++) {
    ws_pool_t *pool = test_pool(workers);
    for (uint64_t count = 1; count < 64; count++) {
      begin(0, 1);
      CU_ASSERT_TRUE(reduces(pool, count));
      CU_ASSERT_TRUE(ws_load_relaxed(&pushes) < 2 * (workers + 1));
    }
    test_destroy(pool);
  }
}

static test_gate_t together;

static void add_together(void *unused, uint64_t first, uint64_t end, void *result)
{
  test_gate_task(&together);
  add(unused, first, end, result);
}

typedef struct {
  ws_pool_t *pool;
  uint64_t count;
} range_t;

static void *reduce_range(void *range_arg)
{
  const range_t *range = range_arg;
  return reduces(range->pool, range->count) ? range_arg : NULL;
}

/// As many pieces as there are threads begin before one has ended: nothing is measured before.
static void a_small_range_runs_on_all_threads(void)
{
  static const range_t cases[] = {{.count = 12}, {.count = 22}, {.count = 63}};
  for (uint32_t workers = 1; workers <= 11; workers += 5)
    for (uint32_t i = 0; i < TEST_COUNT(cases); i++) {
      range_t range = {.pool = test_pool(workers), .count = cases[i].count};
      test_gate_init(&together);
      begin(0, 6000);
      sum_of.piece = add_together;
      test_threads_t caller = {0};
      test_spawn(&caller, reduce_range, &range);
      const uint32_t threads = workers + 1;
      const bool all = test_gate_await(&together, threads < range.count ? threads : (uint32_t)range.count);
      test_gate_let(&together, (uint32_t)range.count);
      test_join(&caller);
      sum_of.piece = add;
      test_destroy(range.pool);
      test_gate_destroy(&together);
      CU_ASSERT_TRUE_FATAL(all); // the next one would wait for the deadline, too
    }
}

static ws_au64_t long_from;

static void add_uneven(void *unused, uint64_t first, uint64_t end, void *result)
{
  add(unused, first, end, result);
  const uint64_t from = ws_load_relaxed(&long_from);
  pass(end > from ? 28000 * (end - (first > from ? first : from)) : 0);
}

/// Elements that begin short: a thread that meets a long one divides what is left.
static void a_piece_may_turn_out_long(void)
{
  ws_pool_t *pool = test_pool(1);
  for (uint64_t from = 0; from <= 8; from++) {
    begin(0, 1);
    ws_store_relaxed(&long_from, from);
    sum_of.piece = add_uneven;
    CU_ASSERT_TRUE(reduces(pool, 60));
    sum_of.piece = add;
    CU_ASSERT_TRUE(ws_load_relaxed(&longest) <= 8);
    CU_ASSERT_TRUE(ws_load_relaxed(&pieces) >= 60 - 2 * 15);
  }
  test_destroy(pool);
}

static ws_au32_t over;

static bool is_over(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&over) != 0;
}

static void add_and_end(void *unused, uint64_t first, uint64_t end, void *result)
{
  ws_store_relaxed(&over, 1);
  add(unused, first, end, result);
}

static test_gate_t gate;

/// The first piece ends the reduction: the halves that were pushed before it are not divided. The only worker
/// stands in a gate.
static void what_is_over_is_not_divided(void)
{
  ws_pool_t *pool = test_pool(1);
  test_gate_init(&gate);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  for (uint64_t grain = 0; grain <= 1; grain++) {
    begin(grain, 28000);
    ws_store_relaxed(&over, 0);
    sum_of.piece = add_and_end;
    sum_of.over = is_over;
    CU_ASSERT_TRUE(reduces(pool, 1u << 16));
    CU_ASSERT_EQUAL(ws_load_relaxed(&pushes), grain == 0 ? 1 : 16);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pieces), grain == 0 ? 3 : 17);
  }
  sum_of.piece = add;
  sum_of.over = NULL;
  test_gate_let(&gate, 1);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

TEST_MAIN("reduce_grain", TEST_CASE(the_grain_follows_the_cost), TEST_CASE(long_elements_of_a_small_range),
          TEST_CASE(short_elements_of_a_small_range), TEST_CASE(a_small_range_runs_on_all_threads),
          TEST_CASE(a_piece_may_turn_out_long), TEST_CASE(what_is_over_is_not_divided))
