// SPDX-License-Identifier: BSD-3-Clause
/// @file test_sync.c
/// Locks and other waits, used by fibers, plain tasks and plain threads at once.
#define _GNU_SOURCE // memfd_create

#include "../../support/ws_death.h"
#include "../fiber/fiber_scene.h"

static ws_mutex_t mutex;
static ws_cond_t cond;
static ws_sem_t sem;
static ws_latch_t latch;
static ws_gate_t open_gate;
static ws_barrier_t barrier;
static uint64_t plain; ///< guarded by mutex

static void begin(uint32_t workers)
{
  scene_begin(workers);
  mutex = (ws_mutex_t)WS_MUTEX_INIT;
  cond = (ws_cond_t)WS_COND_INIT;
  open_gate = (ws_gate_t)WS_GATE_INIT;
  plain = 0;
}

#define ROUNDS 300u

static bool lock_somehow(uint64_t *random)
{
  switch (test_random(random) % 4) {
    case 0:
      return ws_mutex_trylock(&mutex);
    case 1:
      return ws_mutex_lock_until(&mutex, WS_SYNC_NO_DEADLINE) == 0;
    default:
      ws_mutex_lock(&mutex);
      return true;
  }
}

static void count_under_lock(void *seed)
{
  uint64_t random = *(const uint64_t *)seed;
  uint32_t locked = 0;
  while (locked < ROUNDS) {
    if (!lock_somehow(&random)) {
      ws_yield();
      continue;
    }
    const uint64_t before = plain;
    if (test_random(&random) % 8 == 0)
      ws_yield();
    plain = before + 1;
    ws_mutex_unlock(&mutex);
    locked++;
  }
}

static void *count_thread(void *seed)
{
  count_under_lock(seed);
  return NULL;
}

static void test_exclusion(void)
{
  uint64_t seed[24];
  uint64_t random = test_seed();
  begin(6); // four of them may be blocked by tasks
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < TEST_COUNT(seed); i++) {
    seed[i] = test_random(&random);
    if (i % 6 == 0)
      test_spawn(&threads, count_thread, &seed[i]);
    else if (i % 6 == 1)
      test_push(scene.pool, count_under_lock, &seed[i], NULL);
    else
      push_fiber(count_under_lock, &seed[i], NULL);
  }
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(plain, (uint64_t)ROUNDS * TEST_COUNT(seed));
  CU_ASSERT_EQUAL(mutex.word, 0);
  scene_end();
}

static void lock_and_write(void *letter)
{
  ws_mutex_lock(&mutex);
  write_letter(*(const char *)letter);
  ws_mutex_unlock(&mutex);
}

static void test_mutex_order(void)
{
  begin(2);
  ws_mutex_lock(&mutex);
  CU_ASSERT_FALSE(ws_mutex_trylock(&mutex));
  CU_ASSERT_EQUAL(ws_mutex_lock_until(&mutex, 0), -ETIMEDOUT);
  for (uint32_t i = 0; i < 5; i++) {
    push_fiber(lock_and_write, &"abcde"[i], NULL);
    CU_ASSERT(await_parked(i + 1));
  }
  ws_mutex_unlock(&mutex);
  ws_pool_wait(scene.pool);
  CU_ASSERT_STRING_EQUAL(scene.letter, "abcde");
  CU_ASSERT(ws_mutex_trylock(&mutex));
  ws_mutex_unlock(&mutex);
  scene_end();
}

static void wait_for_plain(void *unused)
{
  (void)unused;
  ws_mutex_lock(&mutex);
  while (plain == 0)
    note(ws_cond_wait(&cond, &mutex) == 0);
  plain--;
  write_letter('w');
  ws_mutex_unlock(&mutex);
}

static void *wait_thread(void *unused)
{
  wait_for_plain(unused);
  return NULL;
}

#define WAITS 6u

static bool have_written(void *count)
{
  return ws_load_acquire(&scene.letters) == *(const uint32_t *)count;
}

/// Each signal wakes one wait. A signal without a wait has no effect.
static void test_signal(void)
{
  begin(2);
  ws_cond_signal(&cond);
  for (uint32_t i = 0; i < WAITS; i++)
    push_fiber(wait_for_plain, NULL, NULL);
  CU_ASSERT(await_parked(WAITS));
  for (uint32_t i = 1; i <= WAITS; i++) {
    ws_mutex_lock(&mutex);
    plain++;
    ws_cond_signal(&cond); // the wait moves to the mutex
    CU_ASSERT_EQUAL(parked(), WAITS + 1 - i);
    ws_mutex_unlock(&mutex);
    CU_ASSERT(test_until(have_written, &i));
    CU_ASSERT_EQUAL(parked(), WAITS - i);
  }
  ws_pool_wait(scene.pool);
  scene_end();
}

/// A broadcast wakes all, one after the other, and none before the mutex is free.
static void test_broadcast(void)
{
  begin(2);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < WAITS; i++)
    push_fiber(wait_for_plain, NULL, NULL);
  test_push(scene.pool, wait_for_plain, NULL, NULL);
  test_spawn(&threads, wait_thread, NULL);
  CU_ASSERT(await_parked(WAITS));
  ws_mutex_lock(&mutex);
  plain = WAITS + 2;
  ws_cond_broadcast(&cond);
  CU_ASSERT_EQUAL(parked(), WAITS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.letters), 0);
  ws_mutex_unlock(&mutex);
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.letters), WAITS + 2);
  CU_ASSERT_EQUAL(plain, 0);
  push_fiber(wait_for_plain, NULL, NULL); // the mutex is free at the broadcast: the wait gets it
  CU_ASSERT(await_parked(1));
  ws_mutex_lock(&mutex);
  plain = 1;
  ws_mutex_unlock(&mutex);
  ws_cond_broadcast(&cond);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(mutex.word, 0);
  scene_end();
}

static void pass_unit(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    note(ws_sem_wait(&sem) == 0);
    const uint32_t inside = ws_add_acq_rel(&scene.value, 1);
    note(inside < 3);
    if (i % 4 == 0)
      ws_yield();
    ws_sub_acq_rel(&scene.value, 1);
    ws_sem_post(&sem, 1);
  }
}

static void *pass_thread(void *unused)
{
  pass_unit(unused);
  return NULL;
}

/// Three units among many: never more than three inside, and three are left.
static void test_sem(void)
{
  begin(5); // three of them may be blocked by tasks
  ws_sem_init(&sem, 3);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < 12; i++)
    push_fiber(pass_unit, NULL, NULL);
  for (uint32_t i = 0; i < 3; i++) {
    test_push(scene.pool, pass_unit, NULL, NULL);
    test_spawn(&threads, pass_thread, NULL);
  }
  test_join(&threads);
  ws_pool_wait(scene.pool);
  for (uint32_t i = 0; i < 3; i++)
    CU_ASSERT(ws_sem_trywait(&sem));
  CU_ASSERT_FALSE(ws_sem_trywait(&sem));
  CU_ASSERT_EQUAL(ws_sem_wait_until(&sem, 0), -ETIMEDOUT);
  scene_end();
}

static void wait_all(void *unused)
{
  (void)unused;
  note(ws_latch_wait(&latch) == 0);
  note(ws_gate_wait(&open_gate) == 0);
  ws_add_relaxed(&scene.value, 1);
}

static void *wait_all_thread(void *unused)
{
  wait_all(unused);
  return NULL;
}

static void test_latch_and_gate(void)
{
  begin(2);
  ws_latch_init(&latch, 3);
  test_threads_t threads = {0};
  test_spawn(&threads, wait_all_thread, NULL);
  for (uint32_t i = 0; i < 10; i++)
    push_fiber(wait_all, NULL, NULL);
  CU_ASSERT(await_parked(10));
  ws_latch_count_down(&latch, 1);
  CU_ASSERT_FALSE(ws_latch_try(&latch));
  CU_ASSERT_EQUAL(ws_latch_wait_until(&latch, 0), -ETIMEDOUT);
  CU_ASSERT_EQUAL(parked(), 10);
  ws_latch_count_down(&latch, 2);
  CU_ASSERT(ws_latch_try(&latch));
  CU_ASSERT(await_parked(10)); // at the gate
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 0);
  CU_ASSERT_EQUAL(ws_gate_wait_until(&open_gate, 0), -ETIMEDOUT);
  ws_gate_open(&open_gate);
  CU_ASSERT(ws_gate_is_open(&open_gate));
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 11);
  ws_gate_close(&open_gate);
  CU_ASSERT_EQUAL(ws_gate_wait_until(&open_gate, 0), -ETIMEDOUT);
  scene_end();
}

#define PARTIES 7u

static ws_au32_t arrived;

static void pass_barrier(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    ws_add_acq_rel(&arrived, 1);
    const int result = ws_barrier_wait(&barrier);
    note(result >= 0 && ws_load_acquire(&arrived) >= (i + 1) * PARTIES);
    ws_add_relaxed(&scene.value, (uint32_t)result);
  }
}

static void *barrier_thread(void *unused)
{
  pass_barrier(unused);
  return NULL;
}

static void test_barrier(void)
{
  begin(2);
  ws_barrier_init(&barrier, PARTIES);
  ws_store_relaxed(&arrived, 0);
  CU_ASSERT_EQUAL(ws_barrier_wait_until(&barrier, 0), -ETIMEDOUT); // and withdrawn
  test_threads_t threads = {0};
  test_spawn(&threads, barrier_thread, NULL);
  test_spawn(&threads, barrier_thread, NULL);
  for (uint32_t i = 2; i < PARTIES; i++)
    push_fiber(pass_barrier, NULL, NULL);
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), ROUNDS); // one last arrival a round
  scene_end();
}

static void unlock_free(void)
{
  ws_mutex_unlock(&(ws_mutex_t)WS_MUTEX_INIT);
}

static void post_too_many(void)
{
  ws_sem_t full = WS_SEM_INIT(WS_SEM_UNITS_MAX);
  ws_sem_post(&full, 1);
}

static void post_far_too_many(void)
{
  ws_sem_t two = WS_SEM_INIT(2);
  ws_sem_post(&two, UINT32_MAX); // the sum would be 1
}

static void init_too_many(void)
{
  ws_sem_t sem_of_test;
  ws_sem_init(&sem_of_test, WS_SEM_UNITS_MAX + 1);
}

static void too_many_parties(void)
{
  ws_barrier_init(&barrier, UINT32_C(1) << 31);
}

static void wait_at_no_barrier(void)
{
  ws_barrier_t none = WS_BARRIER_INIT(0);
  ws_barrier_wait_until(&none, 0);
}

static void count_too_far(void)
{
  ws_latch_count_down(&(ws_latch_t)WS_LATCH_INIT(1), 2);
}

static void no_parties(void)
{
  ws_barrier_init(&barrier, 0);
}

static void test_misuse(void)
{
  CU_ASSERT(dies_with(unlock_free, "ws_mutex_unlock(): the mutex is not locked"));
  CU_ASSERT(dies_with(post_too_many, "ws_sem_post(): 1 units on top of 1073741823"));
  CU_ASSERT(dies_with(count_too_far, "ws_latch_count_down(): 2 to count down, but the latch waits for 1"));
  CU_ASSERT(dies_with(no_parties, "ws_barrier_init(): 0 parties"));
  CU_ASSERT(dies_with(post_far_too_many, "ws_sem_post(): 4294967295 units on top of 2"));
  CU_ASSERT(dies_with(init_too_many, "ws_sem_init(): 1073741824 units on top of 0"));
  CU_ASSERT(dies_with(too_many_parties, "ws_barrier_init(): 2147483648 parties"));
  CU_ASSERT(dies_with(wait_at_no_barrier, "ws_barrier_wait(): the barrier has 0 parties"));
}

TEST_MAIN("sync", TEST_CASE(test_misuse), TEST_CASE(test_exclusion), TEST_CASE(test_mutex_order),
          TEST_CASE(test_signal), TEST_CASE(test_broadcast), TEST_CASE(test_sem),
          TEST_CASE(test_latch_and_gate), TEST_CASE(test_barrier))
