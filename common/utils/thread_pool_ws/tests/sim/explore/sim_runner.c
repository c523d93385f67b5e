// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_runner.c
/// sim_runner.h.
#define _GNU_SOURCE
#include "sim_runner.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim_checks.h"
#include "sim_event.h"
#include "sim_libc.h"
#include "sim_play.h"
#include "sim_record.h"

/// CPU time of the host: a scenario that takes more will not end.
#define HOST_SECONDS_MAX 120u

/// What a scenario's process leaves. In memory that all share.
typedef struct {
  char finding[256];
  uint64_t tasks, points, hash;
  sim_ps_t virtual_ps, strand_ps;
} result_t;

typedef struct {
  uint64_t next; ///< seed, counted from the first
  sim_runner_sum_t sum;
  result_t result[]; ///< of each job
} shared_t;

static shared_t *shared;
static result_t *result;
static bool shows; ///< the threads, with a finding

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
  if (shows)
    show_threads();
  take_finding(text);
  leave_result();
}

_Noreturn static void play(uint64_t seed)
{
  static sim_scenario_t scenario;
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

static void add_up(const sim_runner_t *wanted, uint64_t seed)
{
  sim_runner_sum_t *sum = &shared->sum;
  char line[512];
  const bool found = result->finding[0];
  __atomic_fetch_add(&sum->scenarios, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->tasks, result->tasks, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->points, result->points, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->findings, found, __ATOMIC_RELAXED);
  if (result->strand_ps > sum->strand_ps)
    sum->strand_ps = result->strand_ps;
  int length = 0;
  if (found)
    length = snprintf(line, sizeof(line), "FINDING %s\n  ci/simulate replay seed=%llu\n", result->finding,
                      (unsigned long long)seed);
  else if (wanted->verbose)
    length = snprintf(
        line, sizeof(line), "seed %llu: %llu tasks, %llu steps, order of events %016llx, strand %.2f ms\n",
        (unsigned long long)seed, (unsigned long long)result->tasks, (unsigned long long)result->points,
        (unsigned long long)result->hash, (double)result->strand_ps / 1e9);
  if (length > 0 && write(STDOUT_FILENO, line, (size_t)length) < 0)
    _exit(2);
}

double sim_runner_now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run_one(const sim_runner_t *wanted, uint64_t seed)
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
  add_up(wanted, seed);
}

_Noreturn static void job(const sim_runner_t *wanted, uint32_t index)
{
  const double until_s = sim_runner_now_s() + wanted->seconds;
  result = &shared->result[index];
  shows = wanted->verbose;
  while (shared->sum.findings < wanted->findings_max
         && (wanted->seconds <= 0 || sim_runner_now_s() < until_s)) {
    const uint64_t offset = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
    if (offset >= wanted->count)
      break;
    run_one(wanted, wanted->first + offset);
  }
  _exit(0);
}

void sim_runner_run(const sim_runner_t *wanted, sim_runner_sum_t *sum)
{
  const size_t bytes = sizeof(shared_t) + wanted->jobs * sizeof(result_t);
  shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    perror("simulate: mmap");
    exit(2);
  }
  for (uint32_t i = 0; i < wanted->jobs; i++)
    if (fork() == 0)
      job(wanted, i);
  while (wait(NULL) > 0)
    continue;
  *sum = shared->sum;
}
