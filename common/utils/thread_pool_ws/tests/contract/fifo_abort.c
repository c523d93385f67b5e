// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_abort.c
/// Shape A, the end of a pool: what is queued is freed, what runs is dropped, what comes later runs inline.

#include "contract.h"

typedef struct {
  tpool_t *pool;
  notifiedFIFO_t feed, response;
  test_gate_t gate;
  ws_au64_t runs, got_null, ended;
} scene_t;

static scene_t *new_scene(int workers)
{
  static scene_t scene; // jobs that outlive their test still find it
  memset(&scene, 0, sizeof(scene));
  scene.pool = contract_pool(workers);
  test_gate_init(&scene.gate);
  initNotifiedFIFO(&scene.feed);
  initNotifiedFIFO(&scene.response);
  return &scene;
}

/// Push a job whose argument points to the scene's address.
static void push(scene_t *scene, notifiedFIFO_t *response, void (*func)(void *))
{
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(scene), 3, response, func);
  *(scene_t **)NotifiedFifoData(elt) = scene;
  pushTpool(scene->pool, elt);
}

static void run_gate(void *scene_arg)
{
  scene_t *scene = *(scene_t **)scene_arg;
  test_gate_task(&scene->gate);
  test_count_task(&scene->ended);
}

static void count_run(void *scene)
{
  test_count_task(&(*(scene_t **)scene)->runs);
}

static void expect_inline(scene_t *scene)
{
  const uint64_t before = test_value(&scene->runs);
  for (uint32_t i = 1; i <= 5; i++) {
    push(scene, &scene->response, count_run);
    CU_ASSERT_EQUAL(test_value(&scene->runs), before + i);
    notifiedFIFO_elt_t *elt = pullTpool(&scene->response, scene->pool);
    CU_ASSERT_PTR_NOT_NULL_FATAL(elt);
    delNotifiedFIFO_elt(elt);
  }
  push(scene, NULL, count_run);
  CU_ASSERT_EQUAL(test_value(&scene->runs), before + 6);
}

/// Both workers are held by jobs that have a response, which the host's own would cancel. The leak checker
/// finds an element that was neither freed nor is queued still.
CONTRACT_CASE(abort_of_a_busy_pool)
{
  scene_t *scene = new_scene(2);
  static notifiedFIFO_elt_t mine;
  static scene_t *payload;
  for (uint32_t i = 0; i < 2; i++)
    push(scene, &scene->response, run_gate);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene->gate, 2));
  for (uint32_t i = 0; i < 20; i++)
    push(scene, i % 2 ? &scene->response : NULL, count_run);
  payload = scene;
  mine = (notifiedFIFO_elt_t){.key = 8, .processingFunc = count_run, .msgData = &payload};
  pushTpool(scene->pool, &mine);
  const int ended = abortTpool(scene->pool);
  test_gate_let(&scene->gate, 2);
  if (contract_ours_only("the host's own cancels the thread of a running job")) {
    CU_ASSERT_EQUAL(ended, 2 + 21); // threads, and elements that were queued
    CU_ASSERT_EQUAL(abortTpool(scene->pool), 0);
    CU_ASSERT_TRUE(test_until_count(&scene->ended, 2));
  }
  test_sleep_ms(50); // a job that runs all the same does so meanwhile, a result comes
  CU_ASSERT_EQUAL(test_value(&scene->runs), 0);
  CU_ASSERT_EQUAL(mine.key, 8);
  CU_ASSERT_PTR_NULL(tryPullTpool(&scene->response, scene->pool));
  expect_inline(scene);
}

CONTRACT_CASE(abort_of_idle_and_inline_pools)
{
  for (int workers = 0; workers <= 3; workers += 3)
    for (uint32_t used = 0; used <= 1; used++) {
      scene_t *scene = new_scene(workers);
      CU_ASSERT_TRUE(!used || contract_runs(scene->pool, 4));
      abortTpool(scene->pool);
      expect_inline(scene);
    }
}

enum { WAITERS = 4 };

static void note_null(scene_t *scene, const notifiedFIFO_elt_t *elt)
{
  if (!elt)
    test_count_task(&scene->got_null);
  test_count_task(&scene->ended);
}

static void wait_for_feed(void *scene_arg)
{
  scene_t *scene = *(scene_t **)scene_arg;
  test_count_task(&scene->runs);
  note_null(scene, pullNotifiedFIFO(&scene->feed));
}

static void *wait_for_result(void *scene_arg)
{
  scene_t *scene = scene_arg;
  test_count_task(&scene->runs);
  note_null(scene, pullTpool(&scene->response, scene->pool));
  return NULL;
}

/// As the host shuts down: the pool first, then the queues. The abort does not wait for jobs that wait. Jobs
/// that wait, and threads that wait for results, are released by the abort of their queue.
CONTRACT_CASE(abort_leaves_those_that_wait_to_the_abort_of_their_queue)
{
  scene_t *scene = new_scene(2);
  test_threads_t threads = {0};
  const bool jobs =
      contract_ours_only("the host's own cancels a thread inside the queue, which stays locked");
  if (jobs) {
    push(scene, NULL, wait_for_feed);
    push(scene, &scene->response, wait_for_feed);
  }
  for (int i = jobs ? 2 : 0; i < WAITERS; i++)
    test_spawn(&threads, wait_for_result, scene);
  CU_ASSERT_TRUE_FATAL(test_until_count(&scene->runs, WAITERS));
  abortTpool(scene->pool);
  test_sleep_ms(20);
  CU_ASSERT_EQUAL(test_value(&scene->ended), 0);
  abortNotifiedFIFO(&scene->feed);
  abortNotifiedFIFO(&scene->response);
  test_join(&threads);
  CU_ASSERT_TRUE(test_until_count(&scene->ended, WAITERS));
  CU_ASSERT_EQUAL(test_value(&scene->got_null), WAITERS);
}

TEST_MAIN("fifo_abort")
