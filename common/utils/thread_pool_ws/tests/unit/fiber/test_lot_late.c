// SPDX-License-Identifier: BSD-3-Clause
/// @file test_lot_late.c
/// A cancel or a time limit comes when the wait has its result already. Linked with --wrap=ws_lot_enter: a
/// waiter can be held around its entry; and with --wrap=ws_os_futex_wait_until: a thread's time limit is over
/// when the test says so, and the sleeps of a thread are counted; and with --wrap=ws_blocking_begin and _end.
#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_lot.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

static ws_au32_t holds; ///< the next waiter that enters stands at the gate before that, and after it

static bool ws_lot_enter_seam(ws_waiter_t *waiter)
{
  const bool held = ws_xchg_acq_rel(&holds, 0);
  if (held)
    test_gate_task(&scene.gate);
  const bool entered = __real_ws_lot_enter(waiter);
  if (held)
    test_gate_task(&scene.gate);
  return entered;
}

static _Thread_local bool is_timed; ///< the thread's deadline is over when the gate lets it go on
static ws_au32_t sleeps_timed, sleeps_untimed;

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  if (!is_timed)
    return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  if (deadline_ns == 0) {
    ws_add_acq_rel(&sleeps_untimed, 1);
    return __real_ws_os_futex_wait_until(word, expected, 0);
  }
  if (ws_add_acq_rel(&sleeps_timed, 1) == 0)
    test_gate_task(&scene.gate);
  return -ETIMEDOUT;
}

static _Thread_local bool is_counted; ///< ws_pool_wait() blocks, too, in another thread
static ws_au32_t begins, ends;

static void ws_blocking_begin_seam(void)
{
  if (is_counted)
    ws_add_relaxed(&begins, 1);
  __real_ws_blocking_begin();
}

static void ws_blocking_end_seam(void)
{
  __real_ws_blocking_end();
  if (is_counted)
    ws_add_relaxed(&ends, 1);
}

#define FAR_NS (UINT64_MAX - 1)

static ws_sem_t sem;
static ws_mutex_t mutex;
static ws_cond_t cond;
static ws_cancel_t cancel;

static void wait_sem(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&sem) == 0);
}

static void wait_mutex(void *unused)
{
  (void)unused;
  note(ws_mutex_lock_until(&mutex, UINT64_MAX) == 0);
  ws_mutex_unlock(&mutex);
}

static void *as_thread(void *func)
{
  ws_cancel_use(&cancel);
  (*(void (*const *)(void *))func)(NULL);
  ws_cancel_use(NULL);
  return NULL;
}

static void (*const wait_in[])(void *) = {wait_sem, wait_mutex};

/// The waiter gets what it waits for as it enters; the cancel comes before it has moved on.
static void cancel_late(uint32_t way, bool is_fiber)
{
  scene_begin(1);
  ws_cancel_init(&cancel);
  ws_sem_init(&sem, 0);
  ws_mutex_lock(&mutex);
  ws_store_release(&holds, 1);
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES, .cancel = &cancel};
  test_threads_t threads = {0};
  if (is_fiber)
    note(ws_fiber_push(scene.pool, wait_in[way], NULL, NULL, &options) == 0);
  else
    test_spawn(&threads, as_thread, (void *)(uintptr_t)&wait_in[way]);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  ws_sem_post(&sem, 1);
  ws_mutex_unlock(&mutex);
  test_gate_let(&scene.gate, 1);
  CU_ASSERT(test_gate_await(&scene.gate, 1)); // it has what it wants
  ws_cancel_request(&cancel);
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_sem_trywait(&sem), way != 0);
  CU_ASSERT_EQUAL(mutex.word, 0);
  scene_end();
}

static void test_cancel_after_success(void)
{
  for (uint32_t way = 0; way < TEST_COUNT(wait_in); way++) {
    cancel_late(way, true);
    cancel_late(way, false);
  }
}

static void *wait_signalled(void *unused)
{
  (void)unused;
  is_timed = true;
  ws_mutex_lock(&mutex);
  note(ws_cond_wait_until(&cond, &mutex, FAR_NS) == 0);
  ws_mutex_unlock(&mutex);
  is_timed = false;
  return NULL;
}

static bool sleeps_long(void *unused)
{
  (void)unused;
  return ws_load_acquire(&sleeps_untimed) > 0 || ws_load_acquire(&sleeps_timed) > 1000;
}

/// A thread was signalled, and waits for the mutex when its time limit is over: it sleeps until it gets the
/// mutex, and does not ask the kernel again and again.
static void test_limit_after_signal(void)
{
  scene_begin(1);
  ws_store_relaxed(&sleeps_timed, 0);
  ws_store_relaxed(&sleeps_untimed, 0);
  test_threads_t threads = {0};
  test_spawn(&threads, wait_signalled, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1)); // it is in the lot
  ws_mutex_lock(&mutex);
  ws_cond_signal(&cond);
  test_gate_let(&scene.gate, 1);
  CU_ASSERT(test_until(sleeps_long, NULL));
  ws_mutex_unlock(&mutex);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_acquire(&sleeps_timed), 1);
  scene_end();
}

static void block_on_sem(void *unused)
{
  ws_store_release(&begins, 0);
  ws_store_release(&ends, 0);
  is_counted = true;
  wait_sem(unused);
  is_counted = false;
  note(ws_load_acquire(&begins) == 1 && ws_load_acquire(&ends) == 1);
}

static bool blocks(void *unused)
{
  (void)unused;
  return ws_load_acquire(&begins) == 1;
}

/// A task that waits lets another worker run in its place.
static void test_task_blocks(void)
{
  scene_begin(1);
  ws_sem_init(&sem, 0);
  test_push(scene.pool, block_on_sem, NULL, NULL);
  CU_ASSERT(test_until(blocks, NULL));
  ws_sem_post(&sem, 1);
  ws_pool_wait(scene.pool);
  scene_end();
}

static void test_seams(void)
{
  seam.ws_lot_enter = ws_lot_enter_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
  seam.ws_blocking_begin = ws_blocking_begin_seam;
  seam.ws_blocking_end = ws_blocking_end_seam;
}

TEST_MAIN_SEAMS(test_seams, "lot_late", TEST_CASE(test_cancel_after_success),
                TEST_CASE(test_limit_after_signal), TEST_CASE(test_task_blocks))
