// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_sim_explore: scenarios of the shipped core under adversarial schedules and faults.
///
///   ws_sim_explore seed=N [decisions=1]   one scenario; prints what it did, and each decision about wakes
///   ws_sim_explore [first=N] [count=N] [seconds=S] [jobs=N] [findings=N] [verbose=1]
///
/// Each is played in a process of its own that begins as the same copy of this one: nothing of one reaches
/// the next, and a seed gives the same run whatever ran before it.
/// Exit status: 0, 1 with a finding, 2 where it could not run.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../sleep/ws_decide.h"
#include "sim_checks.h"
#include "sim_event.h"
#include "sim_libc.h"
#include "sim_play.h"
#include "sim_record.h"
#include "sim_scenario.h"

/// CPU time of the host: a scenario that takes more will not end.
#define HOST_SECONDS_MAX 120u

/// What a scenario's process leaves. In memory that all share.
typedef struct {
  char finding[256];
  uint64_t tasks, points, hash;
  sim_ps_t strand_ps;
} result_t;

static struct {
  uint64_t first; ///< seed
  uint64_t count;
  double seconds; ///< at most; 0 = no limit
  uint32_t jobs; ///< host processes at once
  uint32_t findings_max; ///< enough of them
  bool verbose; ///< a line for each scenario, and the threads with a finding
} wanted = {.first = 1, .count = UINT64_MAX, .jobs = 2, .findings_max = 1};

static struct {
  uint64_t next; ///< seed, counted from the first
  uint64_t scenarios, tasks, points, findings;
  sim_ps_t strand_ps; ///< the longest
  result_t result[]; ///< of each job
} * shared;

static result_t *result;

static bool logs_decisions;

ws_decision_t __real_ws_decide(const ws_snapshot_t *snapshot);
ws_decision_t __wrap_ws_decide(const ws_snapshot_t *snapshot);

ws_decision_t __wrap_ws_decide(const ws_snapshot_t *snapshot)
{
  static const char *const triggers[] = {"task", "found", "hint", "stuck", "timer", "all"};
  const ws_decision_t decision = __real_ws_decide(snapshot);
  if (logs_decisions && sim_self)
    fprintf(stderr, "%.3f us, thread %u, %s: %llu queued, %u search, %u of %u work: wakes %u, %s\n",
            (double)sim_self->now_ps / 1e6, sim_self->index + 1, triggers[snapshot->trigger],
            (unsigned long long)snapshot->queued, snapshot->searching, snapshot->working, snapshot->limit,
            decision.wakes, ws_decided_name(decision.why));
  return decision;
}

static void take_finding(const char *text)
{
  snprintf(result->finding, sizeof(result->finding), "%s", text);
}

static void leave_result(void)
{
  for (uint32_t i = 0; i < SIM_POOLS_MAX; i++)
    result->tasks += sim_record_begun[i];
  result->points = sim_points;
  result->hash = sim_event_hash;
  result->strand_ps = sim_strand_longest_ps;
}

/// For a replay: where every thread is.
static void show_threads(void)
{
  static const char *const states[] = {"ready", "running", "asleep", "ended"};
  for (uint32_t i = 0; i < sim_threads; i++) {
    const sim_thread_t *thread = sim_thread[i];
    if (thread->state != SIM_ENDED)
      printf("thread %u \"%s\" %s%s, CPU %u, since %.3f us, waits on %p, mask %llx, class %d\n", i + 1,
             thread->name, states[thread->state], thread->stalled ? " (stopped)" : "", thread->cpu,
             (double)(thread->now_ps - SIM_PS_PER_S) / 1e6, thread->waits_on,
             (unsigned long long)thread->allowed[0], (int)thread->class);
  }
  fflush(stdout);
}

static void end_with_finding(const char *text)
{
  if (wanted.verbose)
    show_threads();
  take_finding(text);
  leave_result();
}

static sim_scenario_t scenario; // ci/simulate replay names it

_Noreturn static void play(uint64_t seed)
{
  setrlimit(RLIMIT_CPU, &(struct rlimit){HOST_SECONDS_MAX, HOST_SECONDS_MAX});
  sim_on_finding = end_with_finding;
  sim_scenario_draw(&scenario, seed);
  sim_play(&scenario);
  leave_result();
  _exit(0);
}

static void note_end(int status)
{
  if (result->finding[0])
    return;
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
    take_finding("no end: the host has computed for too long");
  else if (WIFSIGNALED(status))
    snprintf(result->finding, sizeof(result->finding), "crash: signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0)
    snprintf(result->finding, sizeof(result->finding), "it ended with status %d", WEXITSTATUS(status));
}

static void add_up(uint64_t seed)
{
  char line[512];
  const bool found = result->finding[0];
  __atomic_fetch_add(&shared->scenarios, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&shared->tasks, result->tasks, __ATOMIC_RELAXED);
  __atomic_fetch_add(&shared->points, result->points, __ATOMIC_RELAXED);
  __atomic_fetch_add(&shared->findings, found, __ATOMIC_RELAXED);
  if (result->strand_ps > shared->strand_ps)
    shared->strand_ps = result->strand_ps;
  int length = 0;
  if (found)
    length = snprintf(line, sizeof(line), "FINDING %s\n  ci/simulate replay seed=%llu\n", result->finding,
                      (unsigned long long)seed);
  else if (wanted.verbose)
    length = snprintf(
        line, sizeof(line), "seed %llu: %llu tasks, %llu steps, order of events %016llx, strand %.2f ms\n",
        (unsigned long long)seed, (unsigned long long)result->tasks, (unsigned long long)result->points,
        (unsigned long long)result->hash, (double)result->strand_ps / 1e9);
  if (length > 0 && write(STDOUT_FILENO, line, (size_t)length) < 0)
    _exit(2);
}

static double now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run_one(uint64_t seed)
{
  int status;
  memset(result, 0, sizeof(*result));
  const pid_t pid = fork();
  if (pid == 0)
    play(seed);
  if (pid < 0 || waitpid(pid, &status, 0) < 0) {
    perror("simulate: fork");
    _exit(2);
  }
  note_end(status);
  add_up(seed);
}

/// One of the joins' programs in so many scenarios, and one of the loops'.
#define JOINS_EVERY 4u
#define LOOPS_AT 1u

static uint64_t seed_of(uint64_t offset)
{
  const uint64_t at = wanted.first < SIM_JOINS_FIRST ? offset % JOINS_EVERY : 0, seed = wanted.first + offset;
  return at == JOINS_EVERY - 1 ? seed + SIM_JOINS_FIRST : at == LOOPS_AT ? seed + SIM_LOOPS_FIRST : seed;
}

_Noreturn static void job(uint32_t index)
{
  const double until_s = now_s() + wanted.seconds;
  result = &shared->result[index];
  while (shared->findings < wanted.findings_max && (wanted.seconds <= 0 || now_s() < until_s)) {
    const uint64_t offset = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
    if (offset >= wanted.count)
      break;
    run_one(seed_of(offset));
  }
  _exit(0);
}

static int run_all(void)
{
  const size_t bytes = sizeof(*shared) + wanted.jobs * sizeof(result_t);
  const double start_s = now_s();
  shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    perror("simulate: mmap");
    return 2;
  }
  for (uint32_t i = 0; i < wanted.jobs; i++)
    if (fork() == 0)
      job(i);
  while (wait(NULL) > 0)
    continue;
  const double seconds = now_s() - start_s;
  printf("%llu scenarios, %llu tasks, %llu steps, %llu findings; %.1f s, %.1f million steps a second, "
         "longest strand %.2f ms\n",
         (unsigned long long)shared->scenarios, (unsigned long long)shared->tasks,
         (unsigned long long)shared->points, (unsigned long long)shared->findings, seconds,
         (double)shared->points / seconds / 1e6, (double)shared->strand_ps / 1e9);
  return shared->findings > 0;
}

static uint64_t one; ///< seed; 0 = none

static const sim_word_t options[] = {{"seed", SIM_WORD_SEED, &one, NULL},
                                     {"decisions", SIM_WORD_FLAG, &logs_decisions, NULL},
                                     {"first", SIM_WORD_SEED, &wanted.first, NULL},
                                     {"count", SIM_WORD_SEED, &wanted.count, NULL},
                                     {"seconds", SIM_WORD_NUMBER, &wanted.seconds, NULL},
                                     {"jobs", SIM_WORD_COUNT, &wanted.jobs, NULL},
                                     {"findings", SIM_WORD_COUNT, &wanted.findings_max, NULL},
                                     {"verbose", SIM_WORD_FLAG, &wanted.verbose, NULL},
                                     {0}};

int main(int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    if (!sim_word_read(options, argv[i])) {
      fprintf(stderr, "ws_sim_explore: \"%s\" is no option\n", argv[i]);
      return 2;
    }
  }
  if (one > 0) {
    wanted.first = one;
    wanted.count = wanted.jobs = 1;
    wanted.verbose = true;
  }
  if (wanted.count == UINT64_MAX && wanted.seconds <= 0)
    wanted.seconds = 120;
  return run_all();
}
