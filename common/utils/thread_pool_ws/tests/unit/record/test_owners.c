// SPDX-License-Identifier: BSD-3-Clause
/// @file test_owners.c
/// Whose bursts are judged, and that counts belong to their pool and rings to their thread, when others come
/// and go. With WS_STRESS_SECONDS 100,000 of them, 1,000 at a time.
#include <dirent.h>

#include "../../../include/ws_ledger.h"
#include "../../../include/ws_trace.h"
#include "../../../include/ws_trace_slot.h"
#include "../../../record/ws_flight.h"
#include "../../../record/ws_rings.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define AUTO_NS (UINT64_MAX / 4) ///< no burst is late

#define CROWD_MAX 1000u

/// @return how many are there at a time: a part of all
static uint32_t crowd(uint32_t *all)
{
  const bool is_stress = getenv("WS_STRESS_SECONDS");
  *all = is_stress ? 100000 : 80;
  return is_stress ? CROWD_MAX : 8;
}

static ws_pool_t *judged_pool(uint64_t deadline_ns)
{
  ws_settings_t settings = test_settings(1);
  settings.deadline_ns = deadline_ns;
  return test_create(&settings);
}

static uint64_t bursts(const ws_pool_t *pool)
{
  ws_ledger_t ledger;
  ws_pool_ledger(pool, &ledger);
  return ledger.bursts;
}

static void *one_burst(void *pool)
{
  test_burst(pool, 3, test_empty_task, NULL);
  return NULL;
}

TEST_CASE(threads_that_come_and_go)
{
  ws_pool_t *pool = judged_pool(AUTO_NS);
  static pthread_t thread[CROWD_MAX];
  uint32_t threads;
  const uint32_t together = crowd(&threads);
  for (uint32_t i = 0; i < threads; i++) {
    if (i >= together)
      pthread_join(thread[i % together], NULL);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i % together], NULL, one_burst, pool), 0);
  }
  for (uint32_t i = 0; i < together; i++)
    pthread_join(thread[i], NULL);
  CU_ASSERT_EQUAL(bursts(pool), threads);
  CU_ASSERT_EQUAL(test_warnings_with("are not judged"), 0);
  ws_pool_destroy(pool);
}

static uint32_t begins_with; ///< kind: the ring of who ran this last

/// Push as the first event of a thread, and leave a push as the last place of its ring.
static void *push_first(void *pool)
{
  ws_pool_push(pool, (ws_task_t){.func = test_empty_task});
  ws_event_ring_t *ring = ws_self()->ring;
  begins_with = ws_event_read(&ring->event[0]).kind;
  ws_stat_store(&ring->event[WS_RING_EVENTS - 1].what, ws_event_what(WS_NOTE_PUSH, false, 1, 0));
  ws_stat_store(&ring->event[0].what, 0);
  return NULL;
}

TEST_CASE(what_the_last_owner_left_is_no_event)
{
  ws_pool_t *pool = judged_pool(AUTO_NS);
  test_on_workers(pool, 1, test_empty_task, NULL); // the worker has a ring, too
  for (uint32_t i = 0; i < 2; i++) {
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, push_first, pool), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(begins_with, WS_NOTE_PUSH);
  }
  ws_pool_destroy(pool);
}

TEST_CASE(pools_that_come_and_go)
{
  ws_pool_t *pool = judged_pool(AUTO_NS);
  static ws_pool_t *other[CROWD_MAX];
  uint32_t pools;
  const uint32_t together = crowd(&pools);
  for (uint32_t i = 0; i < 10; i++)
    one_burst(pool);
  for (uint32_t i = 0; i < pools + together; i++) {
    ws_pool_destroy(other[i % together]);
    other[i % together] = i < pools ? judged_pool(1) : NULL;
    if (i >= pools)
      continue;
    CU_ASSERT_EQUAL(bursts(other[i % together]), 0);
    one_burst(other[i % together]);
    CU_ASSERT_EQUAL(bursts(other[i % together]), 1);
  }
  CU_ASSERT_EQUAL(bursts(pool), 10);
  CU_ASSERT_EQUAL(ws_flight_deadline_ns(pool), AUTO_NS);
  ws_pool_destroy(pool);
}

static bool says_so; ///< the report

static void look_at_line(void *unused, const char *line)
{
  (void)unused;
  says_so |= strstr(line, " bursts late, 2 threads not judged; ") != NULL;
}

TEST_CASE(threads_without_room_are_shown)
{
  ws_pool_t *pool = judged_pool(AUTO_NS);
  ws_ledger_t ledger;
  const uint32_t before = ws_stat_add(&ws_rings.without, 2);
  ws_pool_ledger(pool, &ledger);
  CU_ASSERT_EQUAL(ledger.left_out, before + 2);
  ws_pool_report(pool, look_at_line, NULL);
  CU_ASSERT_TRUE(says_so);
  ws_stat_store(&ws_rings.without, before);
  ws_pool_destroy(pool);
}

TEST_CASE(who_asked_is_judged)
{
  ws_pool_t *before = judged_pool(0), *asking = judged_pool(AUTO_NS), *after = judged_pool(0);
  ws_pool_t *const pools[] = {before, asking, after};
  for (uint32_t i = 0; i < TEST_COUNT(pools); i++) {
    one_burst(pools[i]);
    CU_ASSERT_EQUAL(bursts(pools[i]), pools[i] == asking);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pools[i]->runs), // relaxed: it is not written now
                    pools[i] == asking ? WS_RUNS_NOTED : WS_RUNS_PLAINLY);
  }
  for (uint32_t i = 0; i < TEST_COUNT(pools); i++) { // a user asks
    CU_ASSERT_TRUE(ws_flight_judge(pools[i], AUTO_NS));
    one_burst(pools[i]);
    CU_ASSERT_EQUAL(bursts(pools[i]), 1 + (pools[i] == asking));
    CU_ASSERT_EQUAL(ws_load_relaxed(&pools[i]->runs), WS_RUNS_NOTED); // relaxed: as above
    CU_ASSERT_TRUE(ws_flight_judge(pools[i], 0)); // and no longer
    one_burst(pools[i]);
    CU_ASSERT_EQUAL(bursts(pools[i]), pools[i] == asking ? 3 : 1);
    ws_pool_destroy(pools[i]);
  }
}

TEST_CASE(a_phase_is_of_the_pool_that_its_thread_pushes_to)
{
  ws_pool_t *pool = judged_pool(AUTO_NS);
  for (uint32_t pushes = 0; pushes < 2; pushes++) {
    const uint64_t before = bursts(pool);
    ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 1, 2, 3);
    if (pushes)
      one_burst(pool);
    ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
    CU_ASSERT_EQUAL(bursts(pool), before + pushes);
  }
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 1, 3, 3);
  one_burst(pool);
  ws_pool_destroy(pool);
  ws_pool_t *other = judged_pool(AUTO_NS);
  ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  CU_ASSERT_EQUAL(bursts(other), 0);
  ws_pool_destroy(other);
}

/// CPUs of the thread of that name.
static cpu_set_t cpus_of(const char *name)
{
  cpu_set_t cpus;
  char path[300], text[20];
  CPU_ZERO(&cpus);
  DIR *threads = opendir("/proc/self/task");
  for (struct dirent *entry; threads && (entry = readdir(threads));) {
    snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
    if (ws_os_read(path, text, sizeof(text)) && strncmp(text, name, strlen(name)) == 0)
      sched_getaffinity(atoi(entry->d_name), sizeof(cpus), &cpus);
  }
  closedir(threads);
  return cpus;
}

static bool may_leave(void *first)
{
  const cpu_set_t cpus = cpus_of("ws_scribe");
  return CPU_COUNT(&cpus) == 2 && CPU_ISSET(*(int32_t *)first, &cpus);
}

/// One that DPDK has pinned, and which polls: its CPU is no place for the scribe.
TEST_CASE(a_creator_that_is_pinned)
{
  cpu_set_t before, one;
  int32_t cpu[2] = {-1, -1};
  CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(before), &before), 0);
  TEST_SKIP_IF(CPU_COUNT(&before) < 2, "there is one CPU");
  for (int32_t i = 0, found = 0; found < 2; i++)
    if (CPU_ISSET(i, &before))
      cpu[found++] = i;
  CPU_ZERO(&one);
  CPU_SET(cpu[0], &one);
  CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(one), &one), 0);
  ws_settings_t settings = test_settings(1);
  settings.deadline_ns = AUTO_NS;
  settings.cores = &cpu[1];
  settings.core_count = 1;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_TRUE(test_until(may_leave, &cpu[1]));
  ws_pool_destroy(pool);
  CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(before), &before), 0);
}

static ws_au32_t cpus_are_gone; ///< 1 = threads use no CPU time, and the scribe may use none
static uint64_t ws_os_used_ns_seam(uint64_t *sleeps)
{
  const uint64_t used_ns = __real_ws_os_used_ns(sleeps);
  return ws_hint_load(&cpus_are_gone) ? 1 : used_ns;
}

enum { AS_IT_IS, NO_BURST, ONE_BURST };
static ws_au32_t share; ///< of a CPU, for the scribe: so many bursts in a pass

static uint64_t ws_os_thread_cpu_ns_seam(int32_t tid)
{
  static ws_au64_t used_ms;
  if (ws_hint_load(&share) == ONE_BURST)
    return ws_stat_add(&used_ms, 1) * 1000000u;
  const bool is_gone = ws_hint_load(&cpus_are_gone) || ws_hint_load(&share) == NO_BURST;
  return is_gone ? UINT64_MAX : __real_ws_os_thread_cpu_ns(tid);
}

static bool has_been_examined(void *pool)
{
  ws_ledger_t ledger;
  ws_pool_ledger(pool, &ledger);
  return ledger.late == 1 && ledger.by[WS_CAUSE_UNSEEN].bursts == 0;
}

/// After a late burst its thread goes on at once, and overwrites all events of it.
TEST_CASE(a_thread_without_a_cpu_and_a_scribe_that_comes_too_late)
{
  enum { LACKED_NS = 2000000 };
  ws_pool_t *pool = judged_pool(LACKED_NS / 2);
  ws_group_t group;
  ws_ledger_t ledger;
  ws_hint_store(&cpus_are_gone, 1);
  ws_group_init(&group, 2);
  for (uint32_t i = 0; i < 2; i++)
    ws_pool_push(pool, (ws_task_t){.func = test_empty_task, .group = &group});
  for (const uint64_t until_ns = ws_os_now_ns() + LACKED_NS; ws_os_now_ns() < until_ns;)
    ;
  ws_group_wait(&group, pool);
  for (uint32_t i = 0; i < WS_RING_EVENTS / 2; i++) {
    ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 1, 2, 3);
    ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  }
  ws_hint_store(&cpus_are_gone, 0);
  CU_ASSERT_TRUE(test_until(has_been_examined, pool));
  ws_pool_ledger(pool, &ledger);
  CU_ASSERT_TRUE(ledger.by[WS_CAUSE_NO_CPU].total_ns >= LACKED_NS / 2);
  ws_pool_destroy(pool);
}

static bool some_are_examined(void *pool)
{
  ws_ledger_t ledger;
  ws_pool_ledger(pool, &ledger);
  return ledger.by[WS_CAUSE_UNSEEN].bursts < ledger.late;
}

/// Late bursts follow each other at once, and the scribe has no CPU. The newest ones are examined, as they
/// still have their events. The others are not examined; that is no unknown cause.
TEST_CASE(a_scribe_that_falls_behind)
{
  ws_pool_t *pool = judged_pool(1); // each burst takes longer: too few threads
  ws_ledger_t ledger;
  ws_hint_store(&share, NO_BURST);
  for (uint32_t i = 0; i < WS_RING_EVENTS / 2; i++) // each has more than two events
    test_burst(pool, 2, test_empty_task, NULL);
  ws_pool_ledger(pool, &ledger);
  CU_ASSERT_EQUAL(ledger.by[WS_CAUSE_UNSEEN].bursts, ledger.late);
  ws_hint_store(&share, ONE_BURST);
  CU_ASSERT_TRUE(test_until(some_are_examined, pool));
  ws_pool_ledger(pool, &ledger);
  CU_ASSERT_TRUE(ledger.by[WS_CAUSE_TOO_FEW].bursts > 0);
  CU_ASSERT_EQUAL(ledger.by[WS_CAUSE_TOO_FEW].bursts + ledger.by[WS_CAUSE_UNSEEN].bursts, ledger.late);
  ws_hint_store(&share, AS_IT_IS);
  ws_pool_destroy(pool);
}

#define HOUR_NS 3600000000000u
static ws_au64_t ahead_ns; ///< of the clock

/// What the thread's looks at the clock do: take an hour each, or give the scribe a CPU, and no time passes.
enum { LOOK, WAIT_AN_HOUR, GIVE_A_CPU };
static _Thread_local uint32_t look;

static uint64_t ws_os_now_ns_seam(void)
{
  if (look == WAIT_AN_HOUR)
    ws_hint_add(&ahead_ns, HOUR_NS);
  if (look == GIVE_A_CPU) {
    ws_hint_store(&share, AS_IT_IS);
    return 0;
  }
  return __real_ws_os_now_ns() + ws_hint_load(&ahead_ns);
}

static uint64_t late(const ws_pool_t *pool)
{
  ws_ledger_t ledger;
  ws_pool_ledger(pool, &ledger);
  return ledger.late;
}

static bool says_unexamined; ///< the report

static void look_at_cause(void *unused, const char *line)
{
  (void)unused;
  says_unexamined |= strstr(line, "not examined") != NULL;
}

/// @return whether a report at once after a late burst, before the scribe has had a CPU, has a cause for it
static bool reports_cause(uint32_t looks)
{
  ws_pool_t *pool = judged_pool(1);
  ws_hint_store(&share, NO_BURST);
  one_burst(pool);
  says_unexamined = false;
  look = looks;
  ws_pool_report(pool, look_at_cause, NULL);
  look = LOOK;
  ws_hint_store(&share, AS_IT_IS);
  ws_pool_destroy(pool);
  return !says_unexamined;
}

TEST_CASE(a_report_waits_for_the_scribe_but_not_for_ever)
{
  CU_ASSERT_TRUE(reports_cause(GIVE_A_CPU));
  CU_ASSERT_FALSE(reports_cause(WAIT_AN_HOUR));
}

/// Two begins with more than the deadline between them, and one end.
TEST_CASE(a_phase_lasts_from_the_first_begin_in_its_slot)
{
  static const uint32_t second[][2] = {{1, 2}, {1, 3}, {2, 2}}; // frame and slot
  for (uint32_t i = 0; i < TEST_COUNT(second); i++) {
    ws_pool_t *pool = judged_pool(HOUR_NS);
    ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 1, 2, 3);
    one_burst(pool);
    ws_hint_add(&ahead_ns, 2 * HOUR_NS);
    ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, second[i][0], second[i][1], 4);
    one_burst(pool);
    ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
    CU_ASSERT_EQUAL(bursts(pool), 1);
    CU_ASSERT_EQUAL(late(pool), i == 0);
    ws_pool_destroy(pool);
  }
}

/// A task that the program runs itself neither begins a burst nor changes whose burst it is.
TEST_CASE(a_task_without_a_pool_is_of_no_burst)
{
  ws_pool_t *pool = judged_pool(HOUR_NS);
  ws_group_t group;
  ws_trace_run(test_empty_task, NULL);
  ws_hint_add(&ahead_ns, 2 * HOUR_NS);
  one_burst(pool);
  CU_ASSERT_EQUAL(late(pool), 0);
  ws_group_init(&group, 1);
  ws_pool_push(pool, (ws_task_t){.func = test_empty_task, .group = &group});
  ws_trace_run(test_empty_task, NULL);
  ws_group_wait(&group, pool);
  CU_ASSERT_EQUAL(bursts(pool), 2);
  ws_pool_destroy(pool);
}

TEST_MAIN_SEAMS("owners", SEAM(ws_os_used_ns), SEAM(ws_os_thread_cpu_ns), SEAM(ws_os_now_ns))
