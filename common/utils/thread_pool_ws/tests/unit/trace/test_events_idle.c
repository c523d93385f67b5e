// SPDX-License-Identifier: BSD-3-Clause
/// @file test_events_idle.c
/// What the events say of workers that sleep and wake, of pools that begin and end, and of hints
/// (docs/tracing.md). Linked with the core that records (ws_recorder.h), and with --wrap of where it must be
/// held or told what to do.
#define _GNU_SOURCE
#include <errno.h>

#include "../../../prewake/ws_prewake_state.h"
#include "../../../sleep/ws_cap.h"
#include "../../../sleep/ws_wake.h"
#include "../../support/ws_scene.h"
#include "../../support/ws_seam.h"

#define RISE_NS 1000 // has passed
#define BURST_NS 3000
#define ONE_CPU 5

static struct {
  ws_aptr_t looked_at; ///< the pool, for looks of its workers
  ws_au32_t looks, wrong; ///< of a look
  ws_au32_t stands; ///< 1 = the next worker that parks stands in the gate
  ws_au32_t plans; ///< 1 = the next worker that parks plans a timer wake
  ws_au32_t rises; ///< 1 = it has, and may
  ws_au32_t one_cpu; ///< 1 = every thread runs on ONE_CPU
} idle;

/// The pools that the calling thread makes have no guard. It would wake one more if a woken one has no CPU.
static _Thread_local bool has_no_guard;

static _Thread_local uint64_t stands_ns; ///< the clock of the calling thread; 0 = it goes

static uint64_t ws_os_now_ns_seam(void)
{
  return stands_ns ? stands_ns : __real_ws_os_now_ns();
}

static void ws_os_futex_wake_seam(ws_au32_t *word, uint32_t count)
{
  WS_PROBE(futex_wake, NULL, (uintptr_t)word);
  __real_ws_os_futex_wake(word, count);
}

static ws_plan_t ws_plan_choose_seam(ws_worker_t *worker, const ws_outlook_t *outlook)
{
  const ws_plan_t plan = __real_ws_plan_choose(worker, outlook);
  const bool is_told = ws_xchg_acq_rel(&idle.plans, 0) == 1;
  ws_store_release(&idle.rises, is_told);
  return is_told ? (ws_plan_t){.rise_ns = RISE_NS, .expected_ns = BURST_NS, .phase = -1} : plan;
}

static ws_decision_t ws_decide_seam(const ws_snapshot_t *snapshot)
{
  const bool rises = snapshot->trigger == WS_TRIGGER_TIMER && ws_load_acquire(&idle.rises);
  return rises ? (ws_decision_t){1, WS_DECIDED_TIMER} : __real_ws_decide(snapshot);
}

static int32_t ws_os_cpu_seam(void)
{
  return ws_load_acquire(&idle.one_cpu) ? ONE_CPU : __real_ws_os_cpu();
}

static int ws_guard_create_seam(struct ws_pool_s *pool, uint64_t patience_ns)
{
  return !has_no_guard ? __real_ws_guard_create(pool, patience_ns) : 0;
}

static void begin_with(const ws_settings_t *settings, void (*look)(const recorded_t *recorded))
{
  memset(&idle, 0, sizeof(idle));
  scene_begin(settings, look);
  ws_store_release(&idle.looked_at, scene.pool);
}

static void end(void)
{
  ws_store_release(&idle.looked_at, NULL);
  scene_end();
}

/// Every worker can be woken, and none looks any more.
static bool is_at_rest(void *unused)
{
  bool rest = ws_awake(scene.pool) == 0 && ws_searching(scene.pool) == 0;
  for (uint32_t i = 0; rest && i < scene.pool->workers; i++)
    rest = ws_os_thread_sleeps(ws_tid(scene.pool->worker[i])); // it looks once more after it has set its bit
  return rest;
}

static void begin_at_rest(uint32_t workers, void (*look)(const recorded_t *recorded))
{
  const ws_settings_t settings = test_settings(workers);
  begin_with(&settings, look);
  CU_ASSERT_TRUE_FATAL(test_until(is_at_rest, NULL));
}

static bool has_run(void *arg)
{
  return recorder_find("run_end", F_END_ARG, ADDRESS(arg));
}

/// Push a task, which a worker runs.
static void run_told(uint32_t arg)
{
  push_told(arg, NULL);
  CU_ASSERT_TRUE_FATAL(test_until(has_run, &scene.arg[arg]));
}

static void look_at_park(const recorded_t *recorded)
{
  const ws_pool_t *pool = ws_load_acquire(&idle.looked_at);
  if (!pool || strcmp(recorded->event, "park") != 0)
    return;
  ws_add_relaxed(&idle.looks, 1);
  ws_add_relaxed(&idle.wrong, recorded->field[F_WORKER] != 0 || ws_is_parked(pool, 0));
  if (ws_xchg_acq_rel(&idle.stands, 0) == 1)
    test_gate_task(&scene.gate);
}

TEST_CASE(a_park_is_told_before_the_sleep_begins)
{
  begin_at_rest(1, look_at_park);
  const uint32_t before = ws_load_relaxed(&idle.looks);
  run_told(0);
  CU_ASSERT_TRUE(test_until(is_at_rest, NULL));
  CU_ASSERT_TRUE(ws_load_relaxed(&idle.looks) > before);
  CU_ASSERT_EQUAL(ws_load_relaxed(&idle.wrong), 0);
  CU_ASSERT_TRUE(RECORDED(recorder_next(NULL, "park"), scene.id, 0));
  end();
}

TEST_CASE(a_wake_is_told_before_the_call)
{
  begin_at_rest(1, NULL);
  const ws_au32_t *token = &ws_sleep_worker(scene.pool->worker[0])->token;
  run_told(0);
  EXPECT({"park", {scene.id, 0}}, {"push", {scene.id, -1, TOLD, ARG(0), 0}},
         {"wake", {scene.id, 0, -1}}, // this thread is no worker
         {"futex_wake", {ADDRESS(token)}}, {"run_begin", {scene.id, 0, TOLD, ARG(0), 0}});
  EXPECT({"wake", {scene.id, 0, -1}}, {"unpark", {scene.id, 0, 0, ANY}}, {"steal", {scene.id, 0, ANY}});
  CU_ASSERT_EQUAL(recorder_count("wake"), 1);
  CU_ASSERT_EQUAL(recorder_count("unpark"), 1);
  end();
}

/// The other worker has to be woken for it.
static void have_another_run(void *unused)
{
  test_push(scene.pool, told_and_let_go, &scene.arg[0], NULL);
  test_gate_task(&scene.gate);
}

/// The kernel has woken it in the place of the thread that pushed.
TEST_CASE(a_stopped_producer_is_counted)
{
  begin_at_rest(1, NULL);
  run_told(0);
  CU_ASSERT_TRUE_FATAL(test_until(is_at_rest, NULL));
  ws_store_release(&idle.one_cpu, 1);
  run_told(1);
  ws_store_release(&idle.one_cpu, 0);
  CU_ASSERT_TRUE(TEST_SUM(scene.pool, stopped_callers) >= 1);
  end();
}

TEST_CASE(a_wake_names_the_worker_that_wakes)
{
  has_no_guard = true;
  begin_at_rest(2, NULL); // without a guard both may be awake, however few CPUs there are
  has_no_guard = false;
  test_push(scene.pool, have_another_run, NULL, NULL);
  CU_ASSERT_TRUE_FATAL(test_until(has_run, &scene.arg[0]));
  const recorded_t *first = recorder_next(NULL, "wake");
  CU_ASSERT_TRUE_FATAL(first != NULL);
  const int64_t waker = first->field[F_WORKER];
  CU_ASSERT_TRUE(waker == 0 || waker == 1);
  EXPECT({"wake", {scene.id, waker, -1}}, {"wake", {scene.id, 1 - waker, waker}},
         {"unpark", {scene.id, 1 - waker, 0, ANY}}, {"steal", {scene.id, 1 - waker, waker}});
  end();
}

TEST_CASE(who_sees_work_before_it_sleeps_says_so)
{
  begin_at_rest(1, look_at_park);
  ws_store_release(&idle.stands, 1);
  push_told(0, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1)); // it has run the task, and is about to park
  push_told(1, NULL);
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_TRUE_FATAL(test_until(has_run, &scene.arg[1]));
  EXPECT({"run_end", {scene.id, 0, ARG(0), ANY}}, {"push", {scene.id, -1, TOLD, ARG(1), 0}},
         {"unpark", {scene.id, 0, 2, ANY}}, {"run_begin", {scene.id, 0, TOLD, ARG(1), 0}});
  CU_ASSERT_EQUAL(recorder_count("wake"), 1); // for the first task
  CU_ASSERT_EQUAL(recorder_count("unpark"), 2);
  end();
}

static bool has_risen(void *unused)
{
  return recorder_count_with("unpark", F_HOW, 1) > 0;
}

TEST_CASE(a_timer_wake_is_recorded_with_its_reason)
{
  begin_at_rest(1, NULL);
  ws_store_release(&idle.plans, 1);
  push_told(0, NULL);
  CU_ASSERT_TRUE_FATAL(test_until(has_risen, NULL));
  EXPECT({"unpark", {scene.id, 0, ANY, ANY}}, {"park", {scene.id, 0}},
         {"prewake", {scene.id, 0, 0, RISE_NS, BURST_NS}}, {"unpark", {scene.id, 0, 1, ANY}});
  CU_ASSERT_EQUAL(recorder_count("prewake"), 1); // a park without a plan tells none
  CU_ASSERT_EQUAL(recorder_count("wake"), 1);
  end();
}

/// In a worker: who hints is told of no hint.
static void hint(void *pool)
{
  ws_pool_phase_begin(pool, 4);
  ws_pool_phase_end(pool);
}

TEST_CASE(a_hint_is_one_event_of_what_was_hinted)
{
  begin_at_rest(1, NULL);
  ws_pool_prewake(scene.pool, 3, 1000);
  stands_ns = test_now_ns();
  const uint64_t at_ns = stands_ns + 1000000;
  ws_pool_prewake_at(scene.pool, 2, at_ns);
  stands_ns = 0;
  test_on_workers(scene.pool, 1, hint, scene.pool);
  EXPECT({"prewake", {scene.id, -1, 3, 0, 0}}, {"wake", {scene.id, 0, -1}});
  EXPECT({"prewake", {scene.id, -1, 3, 0, 0}}, {"prewake", {scene.id, -1, 2, 0, (int64_t)at_ns}},
         {"prewake", {scene.id, -1, 4, 0, 0}});
  CU_ASSERT_EQUAL(recorder_count_with("prewake", F_WORKER, -1), 3);
  end();
}

static int two_threads(void *create_arg, uint32_t index, int32_t cpu, void *(*func)(void *arg), void *arg)
{
  pthread_t thread;
  return index < 2 ? pthread_create(&thread, NULL, func, arg) : EAGAIN;
}

/// With fewer threads than asked for, and pinned to one CPU.
TEST_CASE(a_pool_starts_with_its_name_and_what_it_got)
{
  const int32_t cpu = ws_os_cpu(), both[2] = {cpu, cpu};
  for (uint32_t pinned = 0; pinned < 2; pinned++) {
    ws_settings_t settings = test_settings(pinned ? 2 : 3);
    settings.name = pinned ? "" : "some name";
    settings.thread_create = pinned ? NULL : two_threads;
    settings.cores = both;
    settings.core_count = pinned ? 2 : 0;
    begin_with(&settings, NULL);
    CU_ASSERT_TRUE(test_until(is_at_rest, NULL));
    CU_ASSERT_TRUE(!pinned || scene.pool->worker_cpus == 1);
    EXPECT({"pool_start", {scene.id, 0, 2, scene.pool->cpus, scene.pool->worker_cpus}},
           {"park", {scene.id, ANY}});
    CU_ASSERT_STRING_EQUAL(recorder_next(NULL, "pool_start")->text, settings.name);
    CU_ASSERT_EQUAL(recorder_count("pool_start"), 1);
    end();
  }
}

TEST_CASE(a_stop_wakes_all_and_names_no_waker)
{
  begin_at_rest(2, NULL);
  const int64_t token[2] = {ADDRESS(&ws_sleep_worker(scene.pool->worker[0])->token),
                            ADDRESS(&ws_sleep_worker(scene.pool->worker[1])->token)};
  end();
  for (int64_t worker = 0; worker < 2; worker++) {
    EXPECT({"wake", {scene.id, worker, -1}}, {"futex_wake", {token[worker]}}, {"pool_stop", {scene.id}});
    EXPECT({"wake", {scene.id, worker, -1}}, {"unpark", {scene.id, worker, 0, ANY}},
           {"pool_stop", {scene.id}});
  }
  CU_ASSERT_EQUAL(recorder_count("wake"), 2);
  CU_ASSERT_EQUAL(recorder_count("pool_stop"), 1);
}

TEST_MAIN_SEAMS("events_idle", SEAM(ws_os_futex_wake), SEAM(ws_plan_choose), SEAM(ws_decide), SEAM(ws_os_cpu),
                SEAM(ws_guard_create), SEAM(ws_os_now_ns))
