// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_abort.c
/// Shape A, abortTpool: how it waits for a result that is being delivered, and two threads that abort one
/// pool at once. Calls are counted and held at seams (--wrap).
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "../../shim/common/ws_tpool.h"
#include "../support/ws_test.h"
#include "common/utils/threadPool/thread-pool.h"

int __wrap_sched_yield(void);
int __real_sched_yield(void);
uint32_t __real_ws_pool_stats_sized(ws_pool_t *pool, const ws_stats_out_t *out);
uint32_t __wrap_ws_pool_stats_sized(ws_pool_t *pool, const ws_stats_out_t *out);
int64_t __wrap_ws_pool_stop(ws_pool_t *pool, ws_stop_t how);
int64_t __real_ws_pool_stop(ws_pool_t *pool, ws_stop_t how);

static _Thread_local bool aborts; ///< this thread: workers may yield while they look for tasks
static struct {
  ws_au32_t yields, stops; ///< calls; those of the first by a thread that aborts
  ws_au32_t hold; ///< 1 = the next look at the statistics stands in the gate
  test_gate_t gate;
} seam;

int __wrap_sched_yield(void)
{
  if (aborts)
    ws_stat_add(&seam.yields, 1);
  return __real_sched_yield();
}

uint32_t __wrap_ws_pool_stats_sized(ws_pool_t *pool, const ws_stats_out_t *out)
{
  uint32_t one = 1;
  if (ws_cas_acq_rel(&seam.hold, &one, 0))
    test_gate_task(&seam.gate);
  return __real_ws_pool_stats_sized(pool, out);
}

int64_t __wrap_ws_pool_stop(ws_pool_t *pool, ws_stop_t how)
{
  const int64_t result = pool ? __real_ws_pool_stop(pool, how) : -EALREADY;
  ws_add_acq_rel(&seam.stops, 1);
  return result;
}

typedef struct {
  tpool_t pool;
  notifiedFIFO_t response;
  ws_au32_t tid, ended;
  int result;
} scene_t;

static void open_scene(scene_t *scene)
{
  static char params[] = "-1,-1", name[] = "aborted";
  memset(scene, 0, sizeof(*scene));
  ws_store_relaxed(&seam.yields, 0);
  ws_store_relaxed(&seam.stops, 0);
  initNotifiedFIFO(&scene->response);
  initNamedTpool(params, &scene->pool, false, name);
}

static void *abort_here(void *scene_arg)
{
  scene_t *scene = scene_arg;
  ws_store_release(&scene->tid, (uint32_t)gettid());
  aborts = true;
  scene->result = abortTpool(&scene->pool);
  ws_store_release(&scene->ended, 1);
  return NULL;
}

static bool delivers(void *scene)
{
  return __atomic_load_n(&ws_tpool_of(&((scene_t *)scene)->pool)->delivering, __ATOMIC_ACQUIRE) > 0;
}

static bool waits_or_yields(void *scene_arg)
{
  scene_t *scene = scene_arg;
  const uint32_t tid = ws_load_acquire(&scene->tid);
  return ws_load_relaxed(&seam.yields) > 0 || (tid && ws_os_thread_sleeps((int32_t)tid));
}

static bool is_freed(void *scene)
{
  return !__atomic_load_n(&ws_tpool_of(&((scene_t *)scene)->pool)->pool, __ATOMIC_ACQUIRE);
}

static void nothing(void *unused)
{
  (void)unused;
}

/// A caller that yields would keep a delivering thread of lower priority off their CPU. This caller sleeps.
static void abort_sleeps_while_a_result_is_delivered(void)
{
  static scene_t scene;
  test_threads_t threads = {.count = 0};
  open_scene(&scene);
  mutexlock(scene.response.lockF); // the delivery stands here
  pushTpool(&scene.pool, newNotifiedFIFO_elt(8, 1, &scene.response, nothing));
  CU_ASSERT_TRUE_FATAL(test_until(delivers, &scene));
  test_spawn(&threads, abort_here, &scene);
  CU_ASSERT_TRUE(test_until(waits_or_yields, &scene));
  CU_ASSERT_EQUAL(ws_load_relaxed(&seam.yields), 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&scene.ended), 0); // when it has returned no more results come
  mutexunlock(scene.response.lockF);
  test_join(&threads);
  CU_ASSERT_EQUAL(scene.result, 2);
  notifiedFIFO_elt_t *elt = pollNotifiedFIFO(&scene.response);
  CU_ASSERT_PTR_NOT_NULL_FATAL(elt);
  delNotifiedFIFO_elt(elt);
  CU_ASSERT_TRUE(test_until(is_freed, &scene));
}

static bool is_stopped(void *unused)
{
  (void)unused;
  return ws_load_acquire(&seam.stops) > 0;
}

/// The first stands between its look at the pool and the rest while the second ends the pool.
static void two_aborts_at_once_end_the_pool_once(void)
{
  static scene_t scene;
  test_threads_t threads = {.count = 0};
  open_scene(&scene);
  test_gate_init(&seam.gate);
  ws_store_release(&seam.hold, 1);
  test_spawn(&threads, abort_here, &scene);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&seam.gate, 1));
  CU_ASSERT_EQUAL(abortTpool(&scene.pool), 2);
  CU_ASSERT_TRUE(test_until(is_stopped, NULL));
  test_gate_let(&seam.gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(scene.result, 0);
  CU_ASSERT_TRUE(test_until(is_freed, &scene));
  CU_ASSERT_EQUAL(abortTpool(&scene.pool), 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&seam.stops), 1);
  test_gate_destroy(&seam.gate);
}

TEST_MAIN("tpool_abort", TEST_CASE(abort_sleeps_while_a_result_is_delivered),
          TEST_CASE(two_aborts_at_once_end_the_pool_once))
