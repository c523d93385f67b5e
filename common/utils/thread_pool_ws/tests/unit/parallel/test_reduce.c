// SPDX-License-Identifier: BSD-3-Clause
/// @file test_reduce.c
/// ws_reduce.h: the result, the order of its pieces, and into which pieces a range is divided. Pieces, pushes
/// and threads are counted. Slots of loops: stress/ws_loops.c.
///
/// The clock is virtual, and a piece takes exactly as long as the test says: threads that read the clock
/// meanwhile do not count. Linked with --wrap of ws_os_now_ns and ws_pool_push.
#include "../../../include/ws_for.h"
#include "../../support/ws_seam.h"

static ws_au64_t clock_ns, element_ns;
static _Thread_local uint64_t read_ns, piece_ns; ///< the last reading; what the piece since then took

static uint64_t ws_os_now_ns_seam(void)
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

static int ws_pool_push_seam(ws_pool_t *pool, ws_task_t task)
{
  ws_add_relaxed(&pushes, 1);
  return __real_ws_pool_push(pool, task);
}

/// Results are segments: they combine only with their neighbours.
typedef struct {
  uint64_t first, end, sum;
} segment_t;

static const segment_t nothing = {.first = UINT64_MAX};
static ws_au32_t pieces, torn;
static ws_au64_t longest;

static void append(segment_t *segment, uint64_t first, uint64_t end)
{
  if (segment->first == UINT64_MAX)
    segment->first = first;
  else if (segment->end != first)
    ws_add_relaxed(&torn, 1);
  segment->end = end;
}

static void add(void *factor, uint64_t first, uint64_t end, void *result)
{
  segment_t *segment = result;
  ws_add_relaxed(&pieces, 1);
  pass(1 + ws_load_relaxed(&element_ns) * (end - first));
  uint64_t most = ws_load_relaxed(&longest);
  while (end - first > most && !ws_cas_acq_rel(&longest, &most, end - first))
    ;
  append(segment, first, end);
  for (uint64_t i = first; i < end; i++)
    segment->sum += i * *(const uint64_t *)factor;
}

static void combine(void *factor, void *left, const void *right_arg)
{
  segment_t *segment = left;
  const segment_t *right = right_arg;
  append(segment, right->first, right->end);
  segment->sum += right->sum;
}

static const uint64_t factor = 3;
static ws_reduce_t sum_of = {.piece = add,
                             .combine = combine,
                             .arg = (void *)(uintptr_t)&factor,
                             .bytes = sizeof(segment_t),
                             .neutral = &nothing};

static void begin(uint64_t grain, uint64_t ns)
{
  sum_of.grain = grain;
  ws_store_relaxed(&element_ns, ns);
  ws_store_relaxed(&pieces, 0);
  ws_store_relaxed(&pushes, 0);
  ws_store_relaxed(&torn, 0);
  ws_store_relaxed(&longest, 0);
}

/// @return whether the result is right
static bool reduces(ws_pool_t *pool, uint64_t first, uint64_t end)
{
  segment_t result = nothing;
  uint64_t expected = 0;
  if (ws_reduce(pool, &sum_of, first, end, &result) != 0 || ws_load_relaxed(&torn) != 0)
    return false;
  for (uint64_t i = first; i < end; i++)
    expected += i * factor;
  return result.sum == expected
         && (first < end ? result.first == first && result.end == end : result.first == UINT64_MAX);
}

/// Also at the end of the numbers, and of an empty range.
TEST_CASE(each_range_and_grain)
{
  static const uint64_t counts[] = {0, 1, 2, 3, 7, 64, 1000, 4097}, grains[] = {0, 1, 2, 3, 100, UINT64_MAX};
  for (uint32_t workers = 0; workers <= 3; workers++) {
    ws_pool_t *pool = test_pool(workers);
    for (uint32_t i = 0; i < TEST_COUNT(counts); i++)
      for (uint32_t k = 0; k < TEST_COUNT(grains); k++) {
        begin(grains[k], 1);
        CU_ASSERT_TRUE(reduces(pool, 11, 11 + counts[i]));
        CU_ASSERT_TRUE(workers == 0 || grains[k] == 0 || ws_load_relaxed(&longest) <= grains[k]);
      }
    begin(10, 1);
    CU_ASSERT_TRUE(reduces(pool, UINT64_MAX - 100, UINT64_MAX));
    CU_ASSERT_TRUE(reduces(pool, 5, 4));
    test_destroy(pool);
  }
}

static ws_pool_t *outer_pool;

static test_gate_t gate;
static test_threads_t aborting;

/// The caller runs the first piece, with all others queued behind a task: now the pool is aborted.
static void add_after_an_abort(void *factor_arg, uint64_t first, uint64_t end, void *result)
{
  if (first == 0) {
    test_abort(&aborting, outer_pool);
    test_gate_let(&gate, 1);
  }
  add(factor_arg, first, end, result);
}

/// An abort skips queued halves: the caller runs them.
TEST_CASE(a_pool_that_is_aborted_meanwhile)
{
  outer_pool = test_pool(1);
  test_gate_init(&gate);
  test_hold(outer_pool, &gate, 1);
  begin(10, 1);
  sum_of.piece = add_after_an_abort;
  CU_ASSERT_TRUE(reduces(outer_pool, 0, 100));
  sum_of.piece = add;
  test_join(&aborting);
  CU_ASSERT_TRUE(test_stats(outer_pool).skipped_tasks > 0);
  test_destroy(outer_pool);
  test_gate_destroy(&gate);
}

TEST_CASE(wrong_arguments)
{
  segment_t result = nothing;
  ws_reduce_t wrong[] = {sum_of, sum_of, sum_of};
  wrong[0].piece = NULL;
  wrong[1].combine = NULL;
  wrong[2].bytes = WS_REDUCE_BYTES_MAX + 1;
  for (uint32_t i = 0; i < TEST_COUNT(wrong); i++)
    CU_ASSERT_EQUAL(ws_reduce(NULL, &wrong[i], 0, 1, &result), -EINVAL);
  CU_ASSERT_EQUAL(ws_reduce(NULL, &sum_of, 0, 1, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_reduce(NULL, NULL, 0, 1, &result), -EINVAL);
  CU_ASSERT_EQUAL(memcmp(&result, &nothing, sizeof(result)), 0);
  CU_ASSERT_EQUAL(ws_for(NULL, NULL, 0, 1), -EINVAL);
  CU_ASSERT_EQUAL(ws_for(NULL, &(ws_for_t){0}, 0, 1), -EINVAL);
}

/// Pieces take 10 us or more, and where that leaves many of them, each thread gets about 32. Each is called
/// in two parts, the first of which is timed.
TEST_CASE(the_grain_follows_the_cost)
{
  static const struct {
    uint64_t element_ns, count, longest_min, longest_max;
    uint32_t pieces_min, pieces_max;
  } rows[] = {{10000, 1000, 1, 1000 / (4 * 32), 0, UINT32_MAX}, // one element is enough
              {10, 20000, 251, 1000, 0, UINT32_MAX}, // 10 us are 1000 elements
              {10, 1000000, 1, UINT64_MAX, 4 * 32, 2 * (4 * 32 * 2) + 64}};
  ws_pool_t *pool = test_pool(3);
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(0, rows[i].element_ns);
    CU_ASSERT_TRUE(reduces(pool, 0, rows[i].count));
    const uint64_t most = ws_load_relaxed(&longest);
    CU_ASSERT_TRUE(most >= rows[i].longest_min && most <= rows[i].longest_max);
    CU_ASSERT_TRUE(ws_load_relaxed(&pieces) >= rows[i].pieces_min);
    CU_ASSERT_TRUE(ws_load_relaxed(&pieces) <= rows[i].pieces_max);
  }
  test_destroy(pool);
}

/// There short elements cost fewer than two pushes for each thread.
TEST_CASE(short_elements_of_a_small_range)
{
  for (uint32_t workers = 1; workers <= 7; workers++) {
    ws_pool_t *pool = test_pool(workers);
    for (uint64_t count = 1; count < 64; count++) {
      begin(0, 1);
      CU_ASSERT_TRUE(reduces(pool, 0, count));
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
  return reduces(range->pool, 0, range->count) ? range_arg : NULL;
}

/// As many pieces as there are threads begin before one has ended: nothing is measured before.
TEST_CASE(a_small_range_runs_on_all_threads)
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
TEST_CASE(a_piece_may_turn_out_long)
{
  ws_pool_t *pool = test_pool(1);
  for (uint64_t from = 0; from <= 8; from++) {
    begin(0, 1);
    ws_store_relaxed(&long_from, from);
    sum_of.piece = add_uneven;
    CU_ASSERT_TRUE(reduces(pool, 0, 60));
    sum_of.piece = add;
    CU_ASSERT_TRUE(ws_load_relaxed(&longest) <= 8);
    CU_ASSERT_TRUE(ws_load_relaxed(&pieces) >= 60 - 2 * 15);
  }
  test_destroy(pool);
}

static ws_au32_t over;

static bool is_over(void *unused)
{
  return ws_load_relaxed(&over) != 0;
}

static void add_and_end(void *unused, uint64_t first, uint64_t end, void *result)
{
  ws_store_relaxed(&over, 1);
  add(unused, first, end, result);
}

/// The first piece ends the reduction: the halves that were pushed before it are not divided. The only worker
/// stands in a gate.
TEST_CASE(what_is_over_is_not_divided)
{
  ws_pool_t *pool = test_pool(1);
  test_gate_init(&gate);
  test_hold(pool, &gate, 1);
  for (uint64_t grain = 0; grain <= 1; grain++) {
    begin(grain, 28000);
    ws_store_relaxed(&over, 0);
    sum_of.piece = add_and_end;
    sum_of.over = is_over;
    CU_ASSERT_TRUE(reduces(pool, 0, 1u << 16));
    CU_ASSERT_EQUAL(ws_load_relaxed(&pushes), grain == 0 ? 1 : 16);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pieces), grain == 0 ? 3 : 17);
  }
  sum_of.piece = add;
  sum_of.over = NULL;
  test_gate_let(&gate, 1);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

TEST_MAIN_SEAMS("reduce", SEAM(ws_os_now_ns), SEAM(ws_pool_push))
