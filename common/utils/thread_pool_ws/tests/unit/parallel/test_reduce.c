// SPDX-License-Identifier: BSD-3-Clause
/// @file test_reduce.c
/// ws_reduce.h: the result, and the order of its pieces. Their size: test_reduce_grain.c.
///
/// The clock is virtual: a piece takes as long as the test says. Linked with --wrap of ws_os_now_ns.
#include "../../../include/ws_reduce.h"
#include "../../support/ws_test.h"

#include <errno.h>

static ws_au64_t clock_ns, element_ns;

uint64_t __wrap_ws_os_now_ns(void);

uint64_t __wrap_ws_os_now_ns(void)
{
  return 1000000 + ws_add_relaxed(&clock_ns, 1);
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
  ws_add_relaxed(&clock_ns, ws_load_relaxed(&element_ns) * (end - first));
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
  (void)factor;
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
  ws_store_relaxed(&torn, 0);
  ws_store_relaxed(&longest, 0);
}

/// Reduce, and check the result.
static void check(ws_pool_t *pool, uint64_t first, uint64_t end)
{
  segment_t result = nothing;
  CU_ASSERT_EQUAL(ws_reduce(pool, &sum_of, first, end, &result), 0);
  uint64_t expected = 0;
  for (uint64_t i = first; i < end; i++)
    expected += i * factor;
  CU_ASSERT_EQUAL(result.sum, expected);
  CU_ASSERT_EQUAL(result.first, first < end ? first : UINT64_MAX);
  CU_ASSERT_TRUE(first >= end || result.end == end);
  CU_ASSERT_EQUAL(ws_load_relaxed(&torn), 0);
}

/// Also at the end of the numbers, and of an empty range.
static void each_range_and_grain(void)
{
  static const uint64_t counts[] = {0, 1, 2, 3, 7, 64, 1000, 4097}, grains[] = {0, 1, 2, 3, 100, UINT64_MAX};
  for (uint32_t workers = 0; workers <= 3; workers++) {
    ws_pool_t *pool = test_pool(workers);
    for (uint32_t i = 0; i < TEST_COUNT(counts); i++)
      for (uint32_t k = 0; k < TEST_COUNT(grains); k++) {
        begin(grains[k], 1);
        check(pool, 11, 11 + counts[i]);
        CU_ASSERT_TRUE(workers == 0 || grains[k] == 0 || ws_load_relaxed(&longest) <= grains[k]);
      }
    begin(10, 1);
    check(pool, UINT64_MAX - 100, UINT64_MAX);
    check(pool, 5, 4);
    test_destroy(pool);
  }
}

static ws_pool_t *outer_pool;

static void reduce_in_a_task(void *sum)
{
  segment_t result = nothing;
  if (ws_reduce(outer_pool, &sum_of, 0, 100, &result) == 0)
    ws_add_relaxed((ws_au64_t *)sum, result.sum);
}

static void inside_tasks(void)
{
  for (uint32_t workers = 1; workers <= 2; workers++) {
    outer_pool = test_pool(workers);
    begin(7, 1);
    ws_au64_t sum = {0};
    for (uint32_t i = 0; i < 20; i++)
      test_push(outer_pool, reduce_in_a_task, &sum, NULL);
    CU_ASSERT_EQUAL(ws_pool_wait(outer_pool), 0);
    CU_ASSERT_EQUAL(test_value(&sum), 20 * 3 * 4950);
    test_destroy(outer_pool);
  }
}

/// The caller runs what the pool does not take.
static void a_pool_that_is_full_or_stopped(void)
{
  ws_settings_t settings = test_settings(1);
  settings.full = WS_FULL_FAIL;
  settings.queue_capacity = 2;
  ws_pool_t *pool = test_create(&settings);
  begin(1, 1);
  check(pool, 0, 1000);
  CU_ASSERT_TRUE(ws_pool_stop(pool, WS_STOP_DRAIN) >= 0);
  begin(1, 1);
  check(pool, 0, 1000);
  test_destroy(pool);
}

static void *abort_pool(void *pool)
{
  ws_pool_stop(pool, WS_STOP_ABORT);
  return NULL;
}

static bool is_aborted(void *pool)
{
  return ws_load_acquire(&((ws_pool_t *)pool)->state) != WS_RUNNING; // all that an abort sets is set
}

static test_gate_t gate;
static test_threads_t aborting;

/// The caller runs the first piece, with all others queued behind a task: now the pool is aborted.
static void add_after_an_abort(void *factor_arg, uint64_t first, uint64_t end, void *result)
{
  if (first == 0) {
    test_spawn(&aborting, abort_pool, outer_pool);
    CU_ASSERT_TRUE(test_until(is_aborted, outer_pool));
    test_gate_let(&gate, 1);
  }
  add(factor_arg, first, end, result);
}

/// An abort skips queued halves: the caller runs them.
static void a_pool_that_is_aborted_meanwhile(void)
{
  outer_pool = test_pool(1);
  test_gate_init(&gate);
  test_push(outer_pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  begin(10, 1);
  sum_of.piece = add_after_an_abort;
  check(outer_pool, 0, 100);
  sum_of.piece = add;
  test_join(&aborting);
  CU_ASSERT_TRUE(test_stats(outer_pool).skipped_tasks > 0);
  test_destroy(outer_pool);
  test_gate_destroy(&gate);
}

static void add_doubles(void *unused, uint64_t first, uint64_t end, void *sum)
{
  (void)unused;
  for (uint64_t i = first; i < end; i++)
    *(double *)sum += (double)i;
}

static void combine_doubles(void *unused, void *left, const void *right)
{
  (void)unused;
  *(double *)left += *(const double *)right;
}

static void without_a_neutral_value_pieces_begin_with_zero(void)
{
  const ws_reduce_t how = {
      .piece = add_doubles, .combine = combine_doubles, .bytes = sizeof(double), .grain = 10};
  ws_pool_t *pool = test_pool(2);
  double sum = 5;
  CU_ASSERT_EQUAL(ws_reduce(pool, &how, 0, 1000, &sum), 0);
  CU_ASSERT_EQUAL(sum, 5 + 499500.);
  CU_ASSERT_EQUAL(ws_reduce(NULL, &how, 0, 10, &sum), 0);
  CU_ASSERT_EQUAL(sum, 5 + 499500. + 45);
  test_destroy(pool);
}

static void wrong_arguments(void)
{
  segment_t result = nothing;
  ws_reduce_t wrong[] = {sum_of, sum_of, sum_of, sum_of};
  wrong[0].piece = NULL;
  wrong[1].combine = NULL;
  wrong[2].bytes = 0;
  wrong[3].bytes = WS_REDUCE_BYTES_MAX + 1;
  for (uint32_t i = 0; i < TEST_COUNT(wrong); i++)
    CU_ASSERT_EQUAL(ws_reduce(NULL, &wrong[i], 0, 1, &result), -EINVAL);
  CU_ASSERT_EQUAL(ws_reduce(NULL, &sum_of, 0, 1, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_reduce(NULL, NULL, 0, 1, &result), -EINVAL);
  CU_ASSERT_EQUAL(memcmp(&result, &nothing, sizeof(result)), 0);
}

TEST_MAIN("reduce", TEST_CASE(each_range_and_grain), TEST_CASE(inside_tasks),
          TEST_CASE(a_pool_that_is_full_or_stopped), TEST_CASE(a_pool_that_is_aborted_meanwhile),
          TEST_CASE(without_a_neutral_value_pieces_begin_with_zero), TEST_CASE(wrong_arguments))
