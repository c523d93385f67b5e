// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cancel.c
/// Cancel tokens, and time limits by a clock of the test's own. Linked with --wrap=ws_os_now_ns and
/// --wrap=ws_os_futex_wait_until: the clock jumps when the test says so.
#include "../fiber/fiber_clock.h"
#include "../fiber/fiber_scene.h"

static ws_sem_t sem;
static ws_mutex_t mutex;
static ws_cond_t cond;
static ws_latch_t latch;
static ws_gate_t a_gate;
static ws_barrier_t barrier;
static ws_cancel_t cancel;
static uint64_t deadline_ns;
static int wanted; ///< result of the waits

static void begin(uint32_t workers)
{
  scene_begin(workers);
  sem = (ws_sem_t)WS_SEM_INIT(0);
  mutex = (ws_mutex_t)WS_MUTEX_INIT;
  cond = (ws_cond_t)WS_COND_INIT;
  latch = (ws_latch_t)WS_LATCH_INIT(1);
  a_gate = (ws_gate_t)WS_GATE_INIT;
  ws_barrier_init(&barrier, 2);
  ws_cancel_init(&cancel);
  deadline_ns = ws_os_now_ns() + HOUR_NS / 2;
}

static void wait_sem(void *unused)
{
  (void)unused;
  note(ws_sem_wait_until(&sem, deadline_ns) == wanted);
}

static void wait_mutex(void *unused)
{
  (void)unused;
  note(ws_mutex_lock_until(&mutex, deadline_ns) == wanted);
}

static void wait_cond(void *unused)
{
  (void)unused;
  ws_mutex_t own = WS_MUTEX_INIT;
  ws_cond_t its = WS_COND_INIT;
  ws_mutex_lock(&own);
  note(ws_cond_wait_until(&its, &own, deadline_ns) == wanted);
  note(!ws_mutex_trylock(&own)); // it is locked again
  ws_mutex_unlock(&own);
}

static void wait_latch(void *unused)
{
  (void)unused;
  note(ws_latch_wait_until(&latch, deadline_ns) == wanted);
}

static void wait_gate(void *unused)
{
  (void)unused;
  note(ws_gate_wait_until(&a_gate, deadline_ns) == wanted);
}

static void wait_barrier(void *unused)
{
  (void)unused;
  note(ws_barrier_wait_until(&barrier, deadline_ns) == wanted);
}

static void sleep_until(void *unused)
{
  (void)unused;
  note(ws_sleep_until(deadline_ns) == (wanted == -ETIMEDOUT ? 0 : wanted));
}

static void (*const wait_in[])(void *) = {wait_sem,  wait_mutex,   wait_cond,  wait_latch,
                                          wait_gate, wait_barrier, sleep_until};

static void *wait_by_thread(void *func)
{
  looks_often = true;
  ws_cancel_t *before = ws_cancel_use(&cancel);
  note(before == NULL && ws_cancel_used() == &cancel);
  (*(void (*const *)(void *))func)(NULL);
  note(ws_cancel_use(before) == &cancel);
  looks_often = false;
  return NULL;
}

static void wait_by_task(void *func)
{
  wait_by_thread(func);
}

/// Have a fiber, a task and a thread wait in each way, end their waits by @p end, and check the results.
static void end_all_by(void (*end)(void), int result)
{
  begin(9);
  wanted = result;
  ws_mutex_lock(&mutex);
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  options.cancel = &cancel;
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < TEST_COUNT(wait_in); i++) {
    CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, wait_in[i], NULL, NULL, &options), 0);
    if (wait_in[i] == wait_barrier)
      continue; // two of them would pass
    test_push(scene.pool, wait_by_task, (void *)(uintptr_t)&wait_in[i], NULL);
    test_spawn(&threads, wait_by_thread, (void *)(uintptr_t)&wait_in[i]);
  }
  CU_ASSERT(await_parked(TEST_COUNT(wait_in)));
  end();
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(parked(), 0);
  ws_mutex_unlock(&mutex);
  CU_ASSERT(ws_mutex_trylock(&mutex)); // no wait that was given up owns it
  CU_ASSERT_EQUAL(sem.word / 2, 0);
  ws_sem_post(&sem, 2);
  CU_ASSERT(ws_sem_trywait(&sem));
  CU_ASSERT_EQUAL((uint32_t)barrier.word, 0); // withdrawn
  scene_end();
}

static void request(void)
{
  CU_ASSERT_FALSE(ws_cancel_requested(&cancel));
  ws_cancel_request(&cancel);
  CU_ASSERT(ws_cancel_requested(&cancel));
  ws_cancel_request(&cancel); // has no further effect
}

static void test_time_limits(void)
{
  end_all_by(jump, -ETIMEDOUT);
}

static void test_cancels(void)
{
  end_all_by(request, -ECANCELED);
  CU_ASSERT_PTR_NULL(cancel.waiters);
}

static void wait_requested(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&sem) == 0); // there is a unit: no wait
  note(ws_sem_wait(&sem) == -ECANCELED);
  note(ws_cancel_use(NULL) == &cancel);
  note(ws_sem_wait(&sem) == 0);
}

/// A token that was requested before; and a fiber that no longer uses it.
static void test_requested_before(void)
{
  begin(1);
  ws_cancel_request(&cancel);
  ws_sem_post(&sem, 1);
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  options.cancel = &cancel;
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, wait_requested, NULL, NULL, &options), 0);
  CU_ASSERT(await_parked(1));
  ws_sem_post(&sem, 1);
  ws_pool_wait(scene.pool);
  scene_end();
}

static void wait_signalled(void *unused)
{
  (void)unused;
  ws_mutex_lock(&mutex);
  note(ws_cond_wait_until(&cond, &mutex, deadline_ns) == 0);
  ws_mutex_unlock(&mutex);
  ws_add_relaxed(&scene.value, 1);
}

/// A wait that was signalled waits for the mutex: neither its time limit nor a cancel loses the signal.
static void test_signal_counts(void)
{
  begin(1);
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  options.cancel = &cancel;
  for (uint32_t i = 0; i < 3; i++)
    CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, wait_signalled, NULL, NULL, &options), 0);
  CU_ASSERT(await_parked(3));
  ws_mutex_lock(&mutex);
  ws_cond_broadcast(&cond);
  jump();
  ws_cancel_request(&cancel);
  CU_ASSERT_EQUAL(parked(), 3);
  ws_mutex_unlock(&mutex);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 3);
  scene_end();
}

#define SLEEPERS 200u

static uint64_t sleeps_until_ns[SLEEPERS];
static ws_au32_t woken;

static void sleep_in_order(void *at_ns)
{
  note(ws_sleep_until(*(const uint64_t *)at_ns) == 0);
  note(ws_os_now_ns() >= *(const uint64_t *)at_ns);
  ws_add_relaxed(&woken, 1);
}

static bool have_woken(void *count)
{
  return ws_load_relaxed(&woken) == *(const uint32_t *)count;
}

/// Sleeps of many lengths, in a random order: after each hour those are over that must be.
static void test_many_sleeps(void)
{
  begin(2);
  uint64_t random = test_seed();
  ws_store_relaxed(&woken, 0);
  uint32_t in_hour[5] = {0}, sum = 0;
  const uint64_t now_ns = ws_os_now_ns();
  for (uint32_t i = 0; i < SLEEPERS; i++) {
    const uint32_t hour = (uint32_t)(test_random(&random) % 5);
    in_hour[hour]++;
    sleeps_until_ns[i] = now_ns + hour * HOUR_NS + HOUR_NS / 4 + test_random(&random) % (HOUR_NS / 4);
    push_fiber(sleep_in_order, &sleeps_until_ns[i], NULL);
  }
  CU_ASSERT(await_parked(SLEEPERS));
  for (uint32_t hour = 0; hour < 5; hour++) {
    jump();
    sum += in_hour[hour];
    CU_ASSERT(test_until(have_woken, &sum));
    CU_ASSERT_EQUAL(parked(), SLEEPERS - sum);
  }
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_fiber_process.alarms.count, 0);
  scene_end();
}

TEST_MAIN_SEAMS(clock_seams, "cancel", TEST_CASE(test_time_limits), TEST_CASE(test_cancels),
                TEST_CASE(test_requested_before), TEST_CASE(test_signal_counts), TEST_CASE(test_many_sleeps))
