// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_end.c
/// The interface tpool: shutdown, at once or in an orderly way, and destroy, with queued jobs, running jobs
/// and threads that are blocked in an add. An orderly shutdown refuses further jobs and runs those that were
/// added, as the library does after which the interface is named.
#include "../../tests/support/ws_death.h"
#include "tpool_test.h"

#define BUFFER 20
#define ADDERS 8u

static ws_aptr_t stopped; ///< the core's pool that is being stopped

TEST_WRAP(int64_t, ws_pool_stop, (ws_pool_t * pool, ws_stop_t how))
{
  ws_store_release(&stopped, pool);
  return __real_ws_pool_stop(pool, how);
}

static ws_aptr_t held; ///< the tpool whose last blocked adder stays in its push until destroy waits for it

TEST_WRAP(int, ws_pool_push, (ws_pool_t * core, ws_task_t task))
{
  const int result = __real_ws_pool_push(core, task);
  tpool *pool = ws_load_acquire(&held);
  if (pool && (ws_load_acquire(&test_room(pool)->sleepers) & INT32_MAX) == 1)
    test_until(test_is_awaited, pool);
  return result;
}

static ws_au32_t early; ///< a core was freed while a thread was in tpool_add()

TEST_WRAP(void, ws_pool_destroy, (ws_pool_t * core))
{
  tpool *pool = ws_load_acquire(&held);
  if (pool && (ws_load_acquire(&test_room(pool)->sleepers) & INT32_MAX) != 0)
    ws_add_relaxed(&early, 1);
  __real_ws_pool_destroy(core);
}

static bool is_aborted(void *unused)
{
  ws_pool_t *core = ws_load_acquire(&stopped);
  return core && ws_load_acquire(&core->state) != WS_RUNNING; // all that an abort sets is set
}

/// A thread that ends a pool at once.
typedef struct {
  tpool *pool;
  bool silent; ///< no function is told of the jobs
  ws_au32_t dropped[BUFFER + 1]; ///< [index of the job]
  uint32_t calls, wrong; ///< of dropped; the calls follow one another
  int64_t result;
} ending_t;

static ws_au32_t started[BUFFER + 1];

/// A job that never runs in these tests; its argument is an index.
static void start(void *index)
{
  ws_add_relaxed(&started[(uintptr_t)index], 1);
}

static void drop(void *ending_arg, void (*func)(void *), void *arg)
{
  ending_t *ending = ending_arg;
  ending->calls++;
  if (func != start || (uintptr_t)arg > BUFFER)
    ending->wrong++;
  else
    ws_add_relaxed(&ending->dropped[(uintptr_t)arg], 1);
}

static void *end(void *ending_arg)
{
  ending_t *ending = ending_arg;
  ending->result = tpool_shutdown_now(ending->pool, ending->silent ? NULL : drop, ending);
  return NULL;
}

static void expect_refusals(tpool *pool)
{
  CU_ASSERT_EQUAL(tpool_add(pool, start, NULL), -ECANCELED);
  CU_ASSERT_EQUAL(tpool_try_add(pool, start, NULL), -ECANCELED);
}

/// A job that stands in a gate, then adds. It is asked to end early while it runs.
typedef struct {
  tpool *pool;
  test_gate_t gate;
  int added, tried;
  bool was_stopping, stops;
} late_t;

static void add_late(void *late_arg)
{
  late_t *late = late_arg;
  late->was_stopping = tpool_is_stopping(late->pool);
  test_gate_task(&late->gate);
  late->added = tpool_add(late->pool, start, (void *)(uintptr_t)BUFFER);
  late->tried = tpool_try_add(late->pool, start, (void *)(uintptr_t)BUFFER);
  late->stops = tpool_is_stopping(late->pool);
}

/// The thread stands in a job, the buffer is full. The end begins; only then the job goes on.
static void end_a_busy_pool(late_t *late, ending_t *ending, bool is_shut)
{
  test_threads_t threads = {0};
  memset(started, 0, sizeof started);
  ws_store_relaxed(&stopped, NULL);
  *late = (late_t){.pool = tpool_create(1, BUFFER)};
  ending->pool = late->pool;
  test_gate_init(&late->gate);
  CU_ASSERT_EQUAL(tpool_add(late->pool, add_late, late), 0);
  CU_ASSERT_FATAL(test_gate_await(&late->gate, 1));
  for (uintptr_t i = 0; i < BUFFER; i++)
    CU_ASSERT_EQUAL(tpool_try_add(late->pool, start, (void *)i), 0);
  if (is_shut)
    CU_ASSERT_EQUAL(tpool_shutdown(late->pool), 0);
  CU_ASSERT_FALSE(tpool_is_stopping(late->pool));
  test_spawn(&threads, end, ending);
  CU_ASSERT(test_until(test_is_closed, late->pool));
  expect_refusals(late->pool);
  CU_ASSERT(test_until(is_aborted, NULL));
  test_gate_let(&late->gate, 1);
  test_join(&threads);
  test_gate_destroy(&late->gate);
}

static void destroy_it(void *pool)
{
  tpool_destroy(pool);
}

static void destroy_inside(void)
{
  tpool *pool = tpool_create(1, 1);
  tpool_add(pool, destroy_it, pool);
  tpool_wait(pool);
}

TEST_CASE(destroy_in_a_job_ends_the_process)
{
  CU_ASSERT(dies_with(destroy_inside, "tpool_destroy(): called inside a job of pool"));
}

TEST_CASE(shutdown_now_reports_queued_jobs)
{
  for (uint32_t is_shut = 0; is_shut <= 1; is_shut++) { // an orderly shutdown has come before
    late_t late;
    ending_t ending = {0};
    end_a_busy_pool(&late, &ending, is_shut != 0);
    CU_ASSERT(late.added == -ECANCELED && late.tried == -ECANCELED);
    CU_ASSERT(!late.was_stopping && late.stops);
    CU_ASSERT_EQUAL(ending.result, BUFFER);
    CU_ASSERT(ending.calls == BUFFER && ending.wrong == 0);
    for (uint32_t i = 0; i <= BUFFER; i++) {
      CU_ASSERT_EQUAL(ws_load_relaxed(&started[i]), 0);
      CU_ASSERT_EQUAL(ws_load_relaxed(&ending.dropped[i]), i < BUFFER);
    }
    CU_ASSERT_EQUAL(tpool_wait(late.pool), 0);
    CU_ASSERT_EQUAL(tpool_count_working_threads(late.pool), 0);
    CU_ASSERT_EQUAL(tpool_shutdown(late.pool), 0);
    expect_refusals(late.pool);
    CU_ASSERT_EQUAL(tpool_shutdown_now(late.pool, drop, &ending), -EALREADY);
    CU_ASSERT_EQUAL(ending.calls, BUFFER);
    tpool_destroy(late.pool);
  }
}

/// The shutdown returns while the job stands in its gate, and the buffer is full.
TEST_CASE(shutdown_does_not_wait)
{
  for (uint32_t waits = 0; waits <= 1; waits++) {
    test_full_t full;
    CU_ASSERT_FATAL(test_fill(&full, BUFFER));
    CU_ASSERT_EQUAL(tpool_shutdown(full.pool), 0);
    CU_ASSERT_EQUAL(tpool_shutdown(full.pool), 0);
    CU_ASSERT_FALSE(tpool_is_stopping(full.pool));
    CU_ASSERT_EQUAL(tpool_count_working_threads(full.pool), 1);
    expect_refusals(full.pool);
    if (waits) {
      test_gate_let(&full.gate, 1);
      CU_ASSERT_EQUAL(tpool_wait(full.pool), 0);
      CU_ASSERT_EQUAL(test_value(&full.ran), BUFFER);
    }
    test_empty(&full);
    CU_ASSERT_EQUAL(test_value(&full.ran), BUFFER);
  }
}

/// Threads are blocked in an add when this comes. They add their jobs, but for a shutdown at once, which they
/// do not let wait: they return while the running job still stands in its gate.
typedef enum { ROOM, SHUTDOWN, SHUTDOWN_NOW, DESTROY } end_t;
static const struct {
  end_t end;
  int buffer;
  int result; ///< of the adders
} ends[] = {
    {ROOM, 1, 0}, {SHUTDOWN, 2, 0}, {SHUTDOWN_NOW, 2, -ECANCELED}, {DESTROY, 1, 0}, {DESTROY, BUFFER, 0}};

static void *let_when_closed(void *full_arg)
{
  test_full_t *full = full_arg;
  test_until(test_is_closed, full->pool);
  test_gate_let(&full->gate, 1);
  return NULL;
}

/// @return jobs that have been dropped
static int64_t end_now(test_full_t *full, test_threads_t *adders)
{
  test_threads_t ender = {0};
  ending_t ending = {.pool = full->pool, .silent = true};
  ws_store_relaxed(&stopped, NULL);
  test_spawn(&ender, end, &ending);
  test_join(adders);
  CU_ASSERT(test_until(is_aborted, NULL));
  test_gate_let(&full->gate, 1);
  test_join(&ender);
  return ending.result;
}

/// The gate opens when the destroy has begun. It waits for the last adder.
static void destroy_now(test_full_t *full, test_threads_t *adders)
{
  ws_store_release(&held, full->pool);
  test_spawn(adders, let_when_closed, full);
  CU_ASSERT_EQUAL(tpool_destroy(full->pool), 0);
  ws_store_release(&held, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&early), 0);
}

TEST_CASE(blocked_adders_return)
{
  for (uint32_t row = 0; row < TEST_COUNT(ends); row++) {
    test_full_t full;
    test_adder_t adder[ADDERS];
    test_threads_t threads = {0};
    int64_t dropped = 0;
    CU_ASSERT_FATAL(test_fill(&full, ends[row].buffer));
    for (uint32_t i = 0; i < ADDERS; i++) {
      adder[i] = (test_adder_t){.pool = full.pool, .func = test_count_task, .arg = &full.ran};
      test_spawn(&threads, test_add_one, &adder[i]);
    }
    CU_ASSERT(test_until_blocked(full.pool, ADDERS));
    if (ends[row].end == SHUTDOWN)
      CU_ASSERT_EQUAL(tpool_shutdown(full.pool), 0);
    if (ends[row].end <= SHUTDOWN) {
      CU_ASSERT(test_until_blocked(full.pool, ADDERS)); // still
      test_gate_let(&full.gate, 1);
    } else if (ends[row].end == SHUTDOWN_NOW) {
      dropped = end_now(&full, &threads);
    } else {
      destroy_now(&full, &threads);
    }
    test_join(&threads);
    if (ends[row].end != DESTROY) {
      CU_ASSERT_EQUAL(tpool_wait(full.pool), 0);
      tpool_destroy(full.pool);
    }
    const bool runs = ends[row].end != SHUTDOWN_NOW;
    CU_ASSERT_EQUAL(test_value(&full.ran), runs ? ADDERS + (uint64_t)ends[row].buffer : 0);
    CU_ASSERT_EQUAL(dropped, runs ? 0 : ends[row].buffer);
    for (uint32_t i = 0; i < ADDERS; i++)
      CU_ASSERT_EQUAL(adder[i].result, ends[row].result);
    test_gate_destroy(&full.gate);
  }
}

/// A job that adds itself until it is refused.
typedef struct {
  tpool *pool;
  ws_au64_t runs;
  bool shuts;
  ws_au32_t result;
} again_t;

static void run_again(void *again_arg)
{
  again_t *again = again_arg;
  ws_add_relaxed(&again->runs, 1);
  if (again->shuts && test_value(&again->runs) == 100)
    ws_store_relaxed(&again->result, (uint32_t)tpool_shutdown(again->pool));
  tpool_try_add(again->pool, run_again, again);
}

/// A job may begin the shutdown, which refuses its further adds; so does a destroy, and ends.
TEST_CASE(jobs_that_add_are_refused)
{
  for (uint32_t shuts = 0; shuts <= 1; shuts++) {
    again_t again = {.pool = tpool_create(2, 3), .shuts = shuts, .result = {1}};
    CU_ASSERT_EQUAL(tpool_add(again.pool, run_again, &again), 0);
    CU_ASSERT(test_until_count(&again.runs, 1));
    if (shuts) {
      CU_ASSERT_EQUAL(tpool_wait(again.pool), 0);
      CU_ASSERT_EQUAL(test_value(&again.runs), 100);
      CU_ASSERT_EQUAL(ws_load_relaxed(&again.result), 0);
    }
    CU_ASSERT_EQUAL(tpool_destroy(again.pool), 0);
  }
}

TEST_MAIN("tpool_end")
