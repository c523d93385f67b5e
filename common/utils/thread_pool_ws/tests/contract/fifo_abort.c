// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_abort.c
/// Shape A, the end of a pool: what is queued is freed, what runs is dropped, what comes later runs inline.
#include "contract.h"

typedef struct {
  tpool_t *pool;
  notifiedFIFO_t feed, response;
  ws_au32_t runs, got_null, ended;
} scene_t;

static scene_t *new_scene(int workers)
{
  static scene_t scene; // jobs that outlive their test still find it
  memset(&scene, 0, sizeof(scene));
  scene.pool = contract_pool(workers);
  initNotifiedFIFO(&scene.feed);
  initNotifiedFIFO(&scene.response);
  return &scene;
}

static void push(scene_t *scene, notifiedFIFO_t *response, void (*func)(void *), void *arg)
{
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(void *), 3, response, func);
  *(void **)NotifiedFifoData(elt) = arg;
  pushTpool(scene->pool, elt);
}

static void run_gate(void *gate)
{
  gate_job(*(gate_t **)gate);
}

static void count_run(void *scene)
{
  ws_add_acq_rel(&(*(scene_t **)scene)->runs, 1);
}

/// Both workers are held. The leak checker finds an element that was neither freed nor is queued still.
static void abort_frees_what_is_queued_without_running_it(void)
{
  scene_t *scene = new_scene(2);
  static gate_t gate;
  static notifiedFIFO_elt_t mine;
  static scene_t *payload;
  gate_init(&gate);
  for (uint32_t i = 0; i < 2; i++)
    push(scene, NULL, run_gate, &gate);
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 2));
  for (uint32_t i = 0; i < 20; i++)
    push(scene, i % 2 ? &scene->response : NULL, count_run, scene);
  payload = scene;
  mine = (notifiedFIFO_elt_t){.key = 8, .processingFunc = count_run, .msgData = &payload};
  pushTpool(scene->pool, &mine);
  abortTpool(scene->pool);
  gate_let(&gate, 2);
  contract_sleep_ms(50); // a job that runs all the same does so meanwhile
  CU_ASSERT_EQUAL(ws_load_acquire(&scene->runs), 0);
  CU_ASSERT_EQUAL(mine.key, 8);
  CU_ASSERT_PTR_NULL(pollNotifiedFIFO(&scene->response));
}

static bool gate_is_left(void *gate)
{
  return ws_load_acquire(&((gate_t *)gate)->left) == 1;
}

static void abort_lets_a_running_job_end_and_drops_its_result(void)
{
  if (!contract_ours_only("the host's own cancels the thread of a running job"))
    return;
  scene_t *scene = new_scene(1);
  static gate_t gate;
  gate_init(&gate);
  push(scene, &scene->response, run_gate, &gate);
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 1));
  abortTpool(scene->pool);
  gate_let(&gate, 1);
  CU_ASSERT_TRUE(contract_until(gate_is_left, &gate));
  contract_sleep_ms(50);
  CU_ASSERT_PTR_NULL(tryPullTpool(&scene->response, scene->pool));
}

static void abort_makes_later_pushes_inline(void)
{
  scene_t *scene = new_scene(2);
  batch_t before;
  ws_au32_t counter = {0};
  batch_begin(&before, 4);
  for (uint32_t i = 0; i < 4; i++)
    batch_push(&before, scene->pool, count_job, &counter);
  batch_end(&before, scene->pool);
  abortTpool(scene->pool);
  for (uint32_t i = 1; i <= 5; i++) {
    push(scene, &scene->response, count_run, scene);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene->runs), i);
    notifiedFIFO_elt_t *elt = pullTpool(&scene->response, scene->pool);
    CU_ASSERT_PTR_NOT_NULL_FATAL(elt);
    delNotifiedFIFO_elt(elt);
  }
  push(scene, NULL, count_run, scene);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene->runs), 6);
}

static void abort_of_idle_and_inline_pools(void)
{
  scene_t *scene = new_scene(3);
  abortTpool(scene->pool);
  push(scene, NULL, count_run, scene);
  static char none[] = "n";
  scene->pool = contract_memory();
  initTpool(none, scene->pool, false);
  abortTpool(scene->pool);
  push(scene, NULL, count_run, scene);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene->runs), 2);
}

static void wait_for_feed(void *scene_arg)
{
  scene_t *scene = *(scene_t **)scene_arg;
  ws_add_acq_rel(&scene->runs, 1);
  if (!pullNotifiedFIFO(&scene->feed))
    ws_add_acq_rel(&scene->got_null, 1);
  ws_add_acq_rel(&scene->ended, 1);
}

static bool two_run(void *scene)
{
  return ws_load_acquire(&((scene_t *)scene)->runs) == 2;
}

static bool two_ended(void *scene)
{
  return ws_load_acquire(&((scene_t *)scene)->ended) == 2;
}

/// As the host shuts down: the pool first, then the queues that its jobs wait on.
static void abort_does_not_wait_for_a_job_that_waits(void)
{
  if (!contract_ours_only("the host's own cancels a thread inside the queue, which then stays locked"))
    return;
  scene_t *scene = new_scene(2);
  push(scene, NULL, wait_for_feed, scene);
  push(scene, &scene->response, wait_for_feed, scene);
  CU_ASSERT_TRUE_FATAL(contract_until(two_run, scene));
  abortTpool(scene->pool);
  CU_ASSERT_EQUAL(ws_load_acquire(&scene->ended), 0);
  abortNotifiedFIFO(&scene->feed);
  CU_ASSERT_TRUE(contract_until(two_ended, scene));
  CU_ASSERT_EQUAL(ws_load_acquire(&scene->got_null), 2);
}

static void *pull_result(void *scene_arg)
{
  scene_t *scene = scene_arg;
  ws_add_acq_rel(&scene->runs, 1);
  if (!pullTpool(&scene->response, scene->pool))
    ws_add_acq_rel(&scene->got_null, 1);
  ws_add_acq_rel(&scene->ended, 1);
  return NULL;
}

/// A thread that waits for results is released by the abort of its queue, not by that of the pool.
static void abort_leaves_pullers_to_the_abort_of_their_queue(void)
{
  scene_t *scene = new_scene(2);
  threads_t threads = {.count = 0};
  threads_start(&threads, pull_result, scene);
  threads_start(&threads, pull_result, scene);
  contract_until(two_run, scene);
  abortTpool(scene->pool);
  contract_sleep_ms(20);
  CU_ASSERT_EQUAL(ws_load_acquire(&scene->ended), 0);
  abortNotifiedFIFO(&scene->response);
  threads_join(&threads);
  CU_ASSERT_EQUAL(ws_load_acquire(&scene->got_null), 2);
}

typedef struct {
  scene_t *scene;
  gate_t *gate;
} parent_t;

static void push_and_pull(void *parent_arg)
{
  parent_t *parent = parent_arg;
  scene_t *scene = parent->scene;
  push(scene, &scene->feed, count_run, scene);
  gate_job(parent->gate); // the pool is aborted now, with that sub-job queued or run
  notifiedFIFO_elt_t *elt = pullTpool(&scene->feed, scene->pool);
  if (elt)
    delNotifiedFIFO_elt(elt);
  else
    ws_add_acq_rel(&scene->got_null, 1);
  ws_add_acq_rel(&scene->ended, 2);
}

/// The sub-job of a running job is freed too: its puller is released by the abort of the queue.
static void abort_with_a_job_that_pulls_its_own_sub_job(void)
{
  if (!contract_ours_only("the host's own cancels the thread of a running job"))
    return;
  scene_t *scene = new_scene(1);
  static gate_t gate;
  static parent_t parent;
  gate_init(&gate);
  parent = (parent_t){.scene = scene, .gate = &gate};
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(parent), 1, NULL, push_and_pull);
  *(parent_t *)NotifiedFifoData(elt) = parent;
  pushTpool(scene->pool, elt);
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 1));
  abortTpool(scene->pool);
  gate_let(&gate, 1);
  contract_sleep_ms(20);
  abortNotifiedFIFO(&scene->feed);
  CU_ASSERT_TRUE(contract_until(two_ended, scene));
  CU_ASSERT_EQUAL(ws_load_acquire(&scene->got_null) + ws_load_acquire(&scene->runs), 1);
}

const contract_case_t fifo_abort_cases[] = {
    CASE(abort_frees_what_is_queued_without_running_it),
    CASE(abort_lets_a_running_job_end_and_drops_its_result),
    CASE(abort_makes_later_pushes_inline),
    CASE(abort_of_idle_and_inline_pools),
    CASE(abort_does_not_wait_for_a_job_that_waits),
    CASE(abort_leaves_pullers_to_the_abort_of_their_queue),
    CASE(abort_with_a_job_that_pulls_its_own_sub_job),
    CASES_END,
};
