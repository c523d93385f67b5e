// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_end.c
/// The interface tpool: shutdown at once, with queued jobs, running jobs and threads that are blocked in an
/// add; destroy. An orderly shutdown: test_tpool_shutdown.c.
#define _GNU_SOURCE
#include "../../tests/support/ws_death.h"
#include "tpool_test.h"

#define BUFFER 20
#define ADDERS 8u

static ws_aptr_t stopped; ///< the core's pool that is being stopped

int64_t __real_ws_pool_stop(ws_pool_t *pool, ws_stop_t how);
int64_t __wrap_ws_pool_stop(ws_pool_t *pool, ws_stop_t how);

int64_t __wrap_ws_pool_stop(ws_pool_t *pool, ws_stop_t how)
{
  ws_store_release(&stopped, pool);
  return __real_ws_pool_stop(pool, how);
}

static ws_aptr_t held; ///< the tpool whose last blocked adder stays in its push until destroy waits for it

int __real_ws_pool_push(ws_pool_t *core, ws_task_t task);
int __wrap_ws_pool_push(ws_pool_t *core, ws_task_t task);

static bool is_awaited(void *pool)
{
  return ws_load_acquire(&test_room(pool)->sleepers) >> 31 != 0;
}

int __wrap_ws_pool_push(ws_pool_t *core, ws_task_t task)
{
  const int result = __real_ws_pool_push(core, task);
  tpool *pool = ws_load_acquire(&held);
  if (pool && (ws_load_acquire(&test_room(pool)->sleepers) & INT32_MAX) == 1)
    test_until(is_awaited, pool);
  return result;
}

static ws_au32_t early; ///< a core was freed while a thread was in tpool_add()

void __real_ws_pool_destroy(ws_pool_t *core);
void __wrap_ws_pool_destroy(ws_pool_t *core);

void __wrap_ws_pool_destroy(ws_pool_t *core)
{
  tpool *pool = ws_load_acquire(&held);
  if (pool && (ws_load_acquire(&test_room(pool)->sleepers) & INT32_MAX) != 0)
    ws_add_relaxed(&early, 1);
  __real_ws_pool_destroy(core);
}

static bool is_aborted(void *unused)
{
  (void)unused;
  ws_pool_t *core = ws_load_acquire(&stopped);
  return core && ws_load_acquire(&core->state) != WS_RUNNING; // all that an abort sets is set
}

/// A thread that ends a pool at once.
typedef struct {
  tpool *pool;
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
  ending->result = tpool_shutdown_now(ending->pool, drop, ending);
  return NULL;
}

/// A job that stands in a gate, then adds.
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
  test_threads_t threads = {0};
  test_spawn(&threads, end, ending);
  CU_ASSERT(test_until(test_is_closed, late->pool));
  CU_ASSERT_EQUAL(tpool_add(late->pool, start, NULL), -ECANCELED);
  CU_ASSERT_EQUAL(tpool_try_add(late->pool, start, NULL), -ECANCELED);
  CU_ASSERT(test_until(is_aborted, NULL));
  test_gate_let(&late->gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(ending->result, BUFFER);
  CU_ASSERT_EQUAL(late->added, -ECANCELED);
  CU_ASSERT_EQUAL(late->tried, -ECANCELED);
  CU_ASSERT_FALSE(late->was_stopping);
  for (uint32_t i = 0; i <= BUFFER; i++)
    CU_ASSERT_EQUAL(ws_load_relaxed(&started[i]), 0);
  CU_ASSERT_EQUAL(tpool_wait(late->pool), 0);
  CU_ASSERT_EQUAL(tpool_count_working_threads(late->pool), 0);
  CU_ASSERT_EQUAL(tpool_shutdown(late->pool), 0);
  CU_ASSERT_EQUAL(tpool_add(late->pool, start, NULL), -ECANCELED);
  test_gate_destroy(&late->gate);
}

static void shutdown_now_reports_queued_jobs(void)
{
  for (uint32_t is_shut = 0; is_shut <= 1; is_shut++) { // an orderly shutdown has come before
    late_t late;
    ending_t ending = {0};
    end_a_busy_pool(&late, &ending, is_shut != 0);
    CU_ASSERT_TRUE(late.stops);
    CU_ASSERT_EQUAL(ending.calls, BUFFER);
    CU_ASSERT_EQUAL(ending.wrong, 0);
    for (uint32_t i = 0; i < BUFFER; i++)
      CU_ASSERT_EQUAL(ws_load_relaxed(&ending.dropped[i]), 1);
    CU_ASSERT_EQUAL(tpool_shutdown_now(late.pool, drop, &ending), -EALREADY);
    CU_ASSERT_EQUAL(ending.calls, BUFFER);
    tpool_destroy(late.pool);
  }
}

static void shutdown_now_needs_no_callback(void)
{
  tpool *pool = tpool_create(2, 3);
  CU_ASSERT_EQUAL(tpool_shutdown_now(pool, NULL, NULL), 0);
  CU_ASSERT_TRUE(tpool_is_stopping(pool));
  tpool_destroy(pool);
}

/// A long job that looks whether it should end.
typedef struct {
  tpool *pool;
  sem_t entered;
  ws_au32_t late;
} long_job_t;

static void run_long(void *long_job)
{
  long_job_t *job = long_job;
  sem_post(&job->entered);
  test_patience_t patience = {0};
  while (!tpool_is_stopping(job->pool))
    if (!test_is_patient(&patience)) {
      ws_store_relaxed(&job->late, 1);
      return;
    }
}

/// Also after an orderly shutdown.
static void running_jobs_are_asked_to_end(void)
{
  for (uint32_t shutdown_before = 0; shutdown_before <= 1; shutdown_before++) {
    long_job_t job = {.pool = tpool_create(1, 1)};
    sem_init(&job.entered, 0, 0);
    CU_ASSERT_EQUAL(tpool_add(job.pool, run_long, &job), 0);
    CU_ASSERT_FATAL(test_sem_wait(&job.entered));
    if (shutdown_before)
      CU_ASSERT_EQUAL(tpool_shutdown(job.pool), 0);
    CU_ASSERT_FALSE(tpool_is_stopping(job.pool));
    CU_ASSERT_EQUAL(tpool_shutdown_now(job.pool, NULL, NULL), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&job.late), 0);
    tpool_destroy(job.pool);
    sem_destroy(&job.entered);
  }
}

static void spawn_adders(test_full_t *full, test_adder_t *adder, test_threads_t *threads, ws_au64_t *ran)
{
  for (uint32_t i = 0; i < ADDERS; i++) {
    adder[i] = (test_adder_t){.pool = full->pool, .func = test_count_task, .arg = ran};
    test_spawn(threads, test_add_one, &adder[i]);
  }
  CU_ASSERT(test_until_blocked(full->pool, ADDERS));
}

/// Blocked adders return while the running job still stands in its gate.
static void blocked_adders_return_at_a_shutdown_now(void)
{
  test_full_t full;
  CU_ASSERT_FATAL(test_fill(&full, 2));
  ws_store_relaxed(&stopped, NULL);
  ws_au64_t ran = {0};
  test_adder_t adder[ADDERS];
  test_threads_t adders = {0}, ender = {0};
  spawn_adders(&full, adder, &adders, &ran);
  ending_t ending = {.pool = full.pool};
  test_spawn(&ender, end, &ending);
  test_join(&adders);
  for (uint32_t i = 0; i < ADDERS; i++)
    CU_ASSERT_EQUAL(adder[i].result, -ECANCELED);
  CU_ASSERT(test_until(is_aborted, NULL));
  test_gate_let(&full.gate, 1);
  test_join(&ender);
  CU_ASSERT_EQUAL(ending.result, 2);
  CU_ASSERT_EQUAL(test_value(&full.ran) + test_value(&ran), 0);
  tpool_destroy(full.pool);
  test_gate_destroy(&full.gate);
}

static void *let_when_closed(void *full_arg)
{
  test_full_t *full = full_arg;
  test_until(test_is_closed, full->pool);
  test_gate_let(&full->gate, 1);
  return NULL;
}

/// The gate opens when the destroy has begun. Blocked adders add their jobs all the same, and destroy waits
/// for the last of them.
static void destroy_runs_queued_jobs(void)
{
  for (int buffer = 1; buffer <= BUFFER; buffer += BUFFER - 1) {
    test_full_t full;
    CU_ASSERT_FATAL(test_fill(&full, buffer));
    ws_au64_t ran = {0};
    test_adder_t adder[ADDERS];
    test_threads_t threads = {0};
    spawn_adders(&full, adder, &threads, &ran);
    ws_store_release(&held, full.pool);
    test_spawn(&threads, let_when_closed, &full);
    CU_ASSERT_EQUAL(tpool_destroy(full.pool), 0);
    ws_store_release(&held, NULL);
    test_join(&threads);
    CU_ASSERT_EQUAL(ws_load_relaxed(&early), 0);
    CU_ASSERT_EQUAL(test_value(&full.ran), (uint64_t)buffer);
    for (uint32_t i = 0; i < ADDERS; i++)
      CU_ASSERT_EQUAL(adder[i].result, 0);
    CU_ASSERT_EQUAL(test_value(&ran), ADDERS);
    test_gate_destroy(&full.gate);
  }
}

static struct {
  tpool *pool;
  ws_au64_t leaves;
} tree;

static void grow(void *depth_arg)
{
  const uintptr_t depth = (uintptr_t)depth_arg;
  if (depth == 0)
    ws_add_relaxed(&tree.leaves, 1);
  for (uint32_t i = 0; i < 2 && depth > 0; i++)
    tpool_add(tree.pool, grow, (void *)(depth - 1));
}

static void wait_runs_jobs_of_jobs(void)
{
  for (int buffer = 1; buffer <= 1000; buffer *= 10) {
    tree.leaves = (ws_au64_t){0};
    tree.pool = tpool_create(2, buffer);
    CU_ASSERT_EQUAL(tpool_add(tree.pool, grow, (void *)(uintptr_t)10), 0);
    CU_ASSERT_EQUAL(tpool_wait(tree.pool), 0);
    tpool_destroy(tree.pool);
    CU_ASSERT_EQUAL(test_value(&tree.leaves), 1u << 10);
  }
}

static void shut_inside(void *result)
{
  *(int64_t *)result = tpool_shutdown_now(tree.pool, NULL, NULL);
}

static void shutdown_now_in_a_job_is_refused(void)
{
  ws_au64_t ran = {0};
  int64_t result = 0;
  tree.pool = tpool_create(1, 1);
  CU_ASSERT_EQUAL(tpool_add(tree.pool, shut_inside, &result), 0);
  CU_ASSERT_EQUAL(tpool_wait(tree.pool), 0);
  CU_ASSERT_EQUAL(result, -EDEADLK);
  CU_ASSERT_FALSE(tpool_is_stopping(tree.pool));
  CU_ASSERT_EQUAL(tpool_add(tree.pool, test_count_task, &ran), 0);
  tpool_destroy(tree.pool);
  CU_ASSERT_EQUAL(test_value(&ran), 1);
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

static void destroy_in_a_job_ends_the_process(void)
{
  CU_ASSERT(dies_with(destroy_inside, "tpool_destroy(): called inside a job of pool"));
}

static void begin_and_end(void)
{
  tpool_destroy(tpool_create(1, 1));
}

static void the_environment_is_read(void)
{
  CU_ASSERT(reads_environment(begin_and_end));
}

TEST_MAIN("tpool_end", TEST_CASE(destroy_in_a_job_ends_the_process),
          TEST_CASE(shutdown_now_reports_queued_jobs), TEST_CASE(shutdown_now_needs_no_callback),
          TEST_CASE(running_jobs_are_asked_to_end), TEST_CASE(blocked_adders_return_at_a_shutdown_now),
          TEST_CASE(destroy_runs_queued_jobs), TEST_CASE(wait_runs_jobs_of_jobs),
          TEST_CASE(shutdown_now_in_a_job_is_refused), TEST_CASE(the_environment_is_read))
