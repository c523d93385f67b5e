// SPDX-License-Identifier: BSD-3-Clause
/// @file test_domain.c
/// Workers that search are counted by domain (ws_wake.c). The last one of all domains must look for work
/// in the place of the pushes that relied on it. And which sleeper a push wakes (ws_wake.c). One thread plays
/// all workers. What happens while the guard takes a worker off is the test's.

#include "../../../classes/ws_nodes.h"
#include "../../../pool/ws_process.h"
#include "../../../prewake/ws_prewake.h"
#include "../../../sleep/ws_cap.h"
#include "../../../sleep/ws_wake.h"
#include "../../../tasks/ws_queue.h"
#include "../../../wide/ws_wide.h"
#include "../../support/ws_made_up.h"
#include "../../support/ws_seam.h"

#define WORKERS 8u
#define DOMAINS 2u
#define LANE WORKERS
#define CELLS 16u
#define NONE UINT32_MAX
#define FIRST 40u ///< CPU of domain 0; the next one is of domain 1
/// Workers of domain 0, of domain 1, and those that sleep.
enum { A, B, C, D, SLEEPERS_FIRST };

static ws_nodes_t nodes;
static ws_queue_t lane, *queue_of[WORKERS + 1];
static ws_inbox_t *inbox_of[WORKERS];
static ws_domain_t domains[DOMAINS];

static void moves_to(uint32_t worker, uint32_t domain)
{
  ws_store_relaxed(&workers[worker].seen_cpu, 1 + FIRST + domain);
}

/// Workers sleep: @p first and those after it.
static void park(uint32_t first)
{
  for (uint32_t i = first; i < WORKERS; i++) {
    ws_store_relaxed(&ws_sleep_worker(&workers[i])->state, WS_STATE_PARKED);
    ws_or_acq_rel(&ws_sleep_pool(&pool)->sleepers[0], UINT64_C(1) << i);
  }
}

/// @param count  of domains; 0 = the pool is small
static void begin(uint32_t tasks, uint32_t count)
{
  static ws_cell_t cells[CELLS], own_cells[WORKERS][2];
  make_up_pool(WORKERS);
  memset(domains, 0, sizeof(domains));
  memset(&lane, 0, sizeof(lane));
  pool.tasks.workers = pool.cpus = WORKERS;
  pool.tasks.mask_words = 1;
  pool.near.caches = DOMAINS;
  pool.near.cache_of_cpu[FIRST + 1] = 1;
  pool.tasks.queue = queue_of;
  pool.tasks.inbox = inbox_of;
  pool.tasks.domain = domains;
  pool.tasks.domains = count;
  ws_store_relaxed(&pool.tasks.queues, WORKERS + 1);
  for (uint32_t i = 0; i < WORKERS; i++) {
    inbox_of[i] = &workers[i].inbox;
    ws_queue_init(&workers[i].queue, own_cells[i], 2, false);
    ws_tasks_put(&pool.tasks, &workers[i].queue, i);
    workers[i].cpu = -1;
    moves_to(i, i >= C && i < SLEEPERS_FIRST);
  }
  ws_queue_init(&lane, cells, CELLS, false);
  ws_tasks_put(&pool.tasks, &lane, LANE);
  for (uint32_t i = 0; i < tasks; i++)
    ws_queue_push(&lane, &(ws_task_t){.func = test_empty_task}, 1);
  park(SLEEPERS_FIRST);
}

static uint32_t counted(uint32_t domain)
{
  return ws_load_relaxed(&ws_sleep_pool(&pool)->searching[domain].workers);
}

/// Other suites may run in this process.
static void end(void)
{
  ws_hint_store(&ws_process.awake, 0);
}

/// @return how many sleepers were woken
static uint32_t woken(void)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < WORKERS; i++)
    count += ws_load_relaxed(&ws_sleep_worker(&workers[i])->token);
  return count;
}

/// Steps: a letter for what happens, and one for the worker.
static void play(const char *steps)
{
  for (; *steps; steps += steps[2] ? 3 : 2) {
    ws_worker_t *worker = &workers[steps[1] - 'A'];
    switch (*steps) {
      case 's': // it searches
        ws_search_begin(worker);
        break;
      case 'l': // it leaves its search
        ws_search_leave(worker, WS_STATE_RUNNING);
        break;
      case 'f': // it has found a task
        ws_search_found(worker);
        break;
      case 'w': // it was woken by another thread
        ws_or_acq_rel(&ws_sleep_worker(worker)->state, WS_STATE_CALLED);
        break;
      case 'm': // it moves to the other domain
        moves_to(worker->index, ws_wide_domain(worker) == 0);
        break;
      case 'c': // it sleeps, and another thread claims it
        ws_claim(&pool, worker->index, false);
        break;
      case 'g': // the guard takes it off, for it has no CPU
        ws_search_starved(worker);
        break;
      default:
        CU_FAIL("no such step");
    }
  }
}

TEST_CASE(searchers_are_counted_and_the_last_one_wakes_another)
{
  static const struct {
    uint32_t domains; ///< 0 = the pool is small
    uint32_t tasks;
    const char *steps;
    uint32_t counted[DOMAINS], starved, woken;
  } rows[] = {
      // a searcher is counted once, in its domain; a small pool has one count
      {2, 0, "sA sA sC sD", {1, 2}, 0, 0},
      {2, 0, "sA sC sD lA lC", {0, 1}, 0, 0},
      {0, 0, "sA sC", {2, 0}, 0, 0},
      // and taken off where it was counted, also if it has moved
      {2, 0, "sA sC mA lA", {0, 1}, 0, 0},
      {2, 0, "sA sC mA lA sA", {0, 2}, 0, 0},
      // a sleeper is counted by its claimer, once
      {2, 0, "mE cE cE", {0, 1}, 0, 0},
      {2, 0, "mE cE cE lE", {0, 0}, 0, 0},
      // the last searcher wakes a worker, which is counted, for what is left
      {2, 1, "sA fA", {1, 0}, 0, 1},
      {2, 0, "sA fA", {0, 0}, 0, 0},
      // the last of a domain leaves that to other domains, one of several to the others
      {2, 5, "sA sC fA", {0, 1}, 0, 0},
      {2, 5, "sA sC fA fC", {1, 0}, 0, 1},
      {2, 5, "sA sB fA", {1, 0}, 0, 0},
      {2, 5, "sA sB fA fB", {1, 0}, 0, 1},
      // a worker that was woken wakes two though others search, so a wide burst has its workers soon; but
      // not more than tasks wait
      {2, 5, "sA sC wA fA", {2, 1}, 0, 2},
      {2, 2, "sA sC wA fA", {1, 1}, 0, 1},
      // the guard takes a worker off where it was counted, once, and has looked in its place
      {2, 5, "sA sC mA gA gA", {0, 1}, 1, 0},
      {2, 5, "sA sC mA gA fA", {0, 1}, 0, 0},
      {2, 5, "sA gA fA", {0, 0}, 0, 0},
      // the worker has a CPU again: it is counted where it is now
      {2, 0, "sA gA mA sA", {0, 1}, 0, 0},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(rows[i].tasks, rows[i].domains);
    play(rows[i].steps);
    const uint32_t starved = ws_load_relaxed(&ws_sleep_pool(&pool)->starved);
    const bool good = counted(0) == rows[i].counted[0] && counted(1) == rows[i].counted[1]
                      && starved == rows[i].starved && woken() == rows[i].woken;
    if (!good)
      printf("\nrow %u, %s: %u and %u counted, %u starved, %u woken\n", i, rows[i].steps, counted(0),
             counted(1), starved, woken());
    CU_ASSERT_TRUE(good);
    CU_ASSERT_EQUAL(ws_is_searched(&pool), counted(0) + counted(1) > 0);
    end();
  }
}

#define HERE 0 ///< CPU of the thread that pushes
#define FAR 4 ///< a CPU of the second cache and node

static uint32_t priority; ///< of the thread that pushes

static int32_t ws_os_cpu_seam(void)
{
  return HERE;
}

static uint32_t ws_os_priority_seam(int32_t tid)
{
  return priority;
}

/// It would be the test's own thread's.
static int sched_setaffinity_seam(pid_t pid, size_t bytes, const cpu_set_t *set)
{
  return 0;
}

/// Properties of a sleeper, by letters.
static void describe(ws_worker_t *sleeper, const char *letters)
{
  ws_store_relaxed(&sleeper->seen_cpu, HERE + 2 + 1);
  for (; *letters; letters++) {
    if (*letters == 'h') // last seen here
      ws_store_relaxed(&sleeper->seen_cpu, HERE + 1);
    else if (*letters == 'f') // far away
      ws_store_relaxed(&sleeper->seen_cpu, FAR + 1);
    else if (*letters == 't') // it has a timer
      ws_store_relaxed(&ws_sleep_worker(sleeper)->alarm_ns, UINT64_MAX);
    else if (*letters == 'p') // it is pinned to the CPU of the thread that pushes
      sleeper->cpu = HERE;
  }
}

TEST_CASE(a_push_wakes_the_best_sleeper)
{
  static const struct {
    const char *sleeper[WORKERS - SLEEPERS_FIRST];
    uint32_t node; ///< of the task, if the machine has nodes
    uint32_t outside, priority; ///< of the thread that pushes: it needs a CPU
    uint32_t woken; ///< NONE = the push wakes no worker, and the guard stands
  } rows[] = {
      {{"", "", "", ""}, 0, 1, 0, 0}, // the lowest, so that the same few stay warm
      {{"h", "", "", ""}, 0, 1, 0, 1}, // one that is elsewhere
      {{"f", "", "", ""}, 0, 1, 0, 1}, // one that is near
      {{"f", "h", "h", "h"}, 0, 1, 0, 0}, // elsewhere counts for more
      {{"", "t", "", ""}, 0, 1, 0, 1}, // one that rises anyway
      {{"ft", "", "", ""}, 0, 1, 0, 1}, // near counts for more
      {{"", "", "f", ""}, 1, 1, 0, 2}, // one on the task's node
      {{"f", "f", "", ""}, 0, 1, 0, 2},
      {{"p", "p", "f", "p"}, 0, 1, 0, 2}, // one that does not stop the thread that pushes
      {{"p", "p", "p", "p"}, 0, 1, 0, NONE},
      {{"p", "p", "p", "p"}, 0, 0, 0, 0}, // unless that thread needs no CPU,
      {{"p", "p", "p", "p"}, 0, 1, 1, 0}, // or goes before the worker
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(1, 0);
    pool.near.cache_of_cpu[FAR] = nodes.of_cpu[FAR] = 1;
    nodes.count = 2;
    pool.nodes = &nodes;
    pool.pinned = ws_sleep_pool(&pool)->spares = 1;
    ws_store_relaxed(&prewake.armed, 1);
    ws_store_relaxed(&ws_sleep_pool(&pool)->outside, rows[i].outside);
    priority = rows[i].priority;
    if (strcmp(rows[i].sleeper[1], "t") == 0 && ws_prewake_armed(&pool) == 0)
      continue; // without pre-wake no worker has a timer
    for (uint32_t k = 0; k < TEST_COUNT(rows[i].sleeper); k++)
      describe(&workers[SLEEPERS_FIRST + k], rows[i].sleeper[k]);
    ws_post(&pool, (ws_here_t){.queue = &lane}, rows[i].node ? WS_KIND_NODE + 1 : WS_KIND_NORMAL);
    const uint32_t expected = rows[i].woken;
    CU_ASSERT_EQUAL(woken(), expected != NONE);
    CU_ASSERT_TRUE(expected == NONE
                   || ws_load_relaxed(&ws_sleep_worker(&workers[SLEEPERS_FIRST + expected])->token) == 1);
    CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(&pool)->guard) == WS_GUARD_STANDING, expected == NONE);
    CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(&pool)->count.spared_wakes), expected == NONE);
    end();
  }
}

/// Tasks are pushed one by one; no worker has begun to run yet.
TEST_CASE(a_burst_calls_workers_ahead_while_that_pays)
{
  static const struct {
    uint32_t tasks;
    uint32_t takes; ///< tasks that the pushing thread would run in the time of a wake
    uint32_t calls; ///< that it can make in that time; 0 = not known
    uint32_t awake; ///< workers of all pools
    uint32_t woken;
  } rows[] = {
      // one for each task but the one that the pushing thread will run
      {1, 0, 9, 0, 1}, {2, 0, 9, 0, 1}, {3, 0, 9, 0, 2},
      {7, 0, 9, 0, 6}, {9, 0, 9, 0, 7}, // a CPU is left to that thread
      {8, 3, 9, 0, 4}, // those that would come too late are not called
      {6, 3, 9, 0, 2}, {5, 3, 9, 0, 1}, {8, 90, 9, 0, 1}, // but one always is
      {8, 0, 2, 0, 2}, // those that are called call the others
      {8, 0, 0, 0, 1}, {8, 0, 9, 4, 3}, // nor where the workers of other pools have the CPUs
      {8, 0, 9, 9, 1},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(0, 0);
    ws_sleep_pool_t *shared = ws_sleep_pool(&pool);
    ws_hint_store(&ws_process.awake, rows[i].awake);
    ws_store_relaxed(&shared->spin_cpus, WORKERS);
    ws_store_relaxed(&shared->tasks_a_wake, rows[i].takes * WS_WAKE_PARTS);
    ws_store_relaxed(&shared->calls_a_wake, rows[i].calls);
    park(0);
    for (uint32_t k = 0; k < rows[i].tasks; k++) {
      ws_queue_push(&lane, &(ws_task_t){.func = test_empty_task}, 1);
      ws_post(&pool, (ws_here_t){.queue = &lane}, WS_KIND_NORMAL);
    }
    CU_ASSERT_EQUAL(woken(), rows[i].woken);
    end();
  }
}

/// As many awake workers as CPUs that threads outside leave, but at least one, and no more than they have
/// CPUs; all while tasks block, and where no guard could lift the cap.
TEST_CASE(the_cap_leaves_cpus_to_threads_outside)
{
  static const struct {
    uint32_t cpus, worker_cpus, outside, helpers;
    uint32_t most; ///< that was set while the pool runs; 0 = no cap
    bool lifted;
    uint32_t cap;
  } rows[] = {{8, 8, 0, 0, 8, false, 8},  {8, 8, 1, 0, 8, false, 7}, {8, 8, 1, 3, 8, false, 5},
              {8, 8, 1, 20, 8, false, 1}, {8, 2, 1, 0, 8, false, 2}, {8, 1, 1, 20, 8, true, 8},
              {8, 8, 1, 20, 0, false, 8}, {8, 8, 1, 0, 3, false, 3}, {8, 8, 1, 0, 3, true, 8}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(0, 0);
    pool.cpus = rows[i].cpus;
    pool.worker_cpus = rows[i].worker_cpus;
    ws_store_relaxed(&ws_sleep_pool(&pool)->cap, rows[i].most);
    ws_store_relaxed(&ws_sleep_pool(&pool)->outside, rows[i].outside);
    ws_store_relaxed(&ws_sleep_pool(&pool)->helpers, rows[i].helpers);
    ws_store_relaxed(&ws_sleep_pool(&pool)->lifted, rows[i].lifted);
    CU_ASSERT_EQUAL(ws_awake_limit(&pool), rows[i].cap);
  }
}

TEST_MAIN_SEAMS("domain", SEAM(ws_os_cpu), SEAM(ws_os_priority), SEAM(sched_setaffinity))
