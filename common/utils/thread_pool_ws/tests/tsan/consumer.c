// SPDX-License-Identifier: BSD-3-Clause
/// @file consumer.c
/// Each order that the C functions promise, used by plain variables. ThreadSanitizer must report nothing.
/// The C++ headers: tests/cxx in a build with ThreadSanitizer.
#include <stdio.h>
#include <stdlib.h>

#include "ws_key.h"
#include "ws_pool.h"

enum { ROUNDS = 200, TASKS = 16 };

#define REQUIRE(condition)                                                                                   \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

typedef struct {
  ws_pool_t *pool;
  long in, out;
  ws_keyed_t keyed;
} job_t;

static long observed[4];

static void observe(void *unused, const ws_observation_t *seen)
{
  if (seen->what == WS_OBSERVED_START)
    observed[seen->worker] = 1;
}

static void skipped(void *count, const ws_task_t *task)
{
  ((job_t *)task->arg)->out = -1;
}

static ws_pool_t *new_pool(uint32_t workers, bool fifo)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = workers;
  settings.fifo = fifo;
  settings.observer = observe;
  settings.skipped = skipped;
  ws_pool_t *pool;
  REQUIRE(ws_pool_create(&pool, &settings) == 0);
  return pool;
}

static void work(void *job_arg)
{
  job_t *job = job_arg;
  job->out = job->in + 1;
}

/// A task that pushes and waits.
static void nest(void *job_arg)
{
  job_t *job = job_arg;
  job_t inner = {.in = job->in};
  ws_group_t group;
  ws_group_init(&group, 1);
  REQUIRE(ws_pool_push(job->pool, (ws_task_t){.func = work, .arg = &inner, .group = &group}) == 0);
  ws_group_wait(&group, job->pool);
  job->out = inner.out;
}

static void push_each(ws_pool_t *pool, job_t *job, ws_group_t *group, long round)
{
  for (int i = 0; i < TASKS; i++) {
    job[i] = (job_t){.pool = pool, .in = round + i};
    const ws_priority_t priority = (ws_priority_t)(i % 3);
    const ws_task_t task = {
        .func = i % 4 == 3 ? nest : work, .arg = &job[i], .group = group, .priority = priority};
    REQUIRE(ws_pool_push(pool, task) == 0);
  }
}

static void check(const job_t *job, long round)
{
  for (int i = 0; i < TASKS; i++)
    REQUIRE(job[i].out == round + i + 1);
}

static void wait_for_groups_and_pools(ws_pool_t *pool)
{
  static job_t job[TASKS];
  for (long round = 0; round < 2 * ROUNDS; round++) {
    ws_group_t group;
    ws_group_init(&group, TASKS);
    push_each(pool, job, &group, round);
    if (round % 4 == 0)
      ws_group_wait(&group, pool);
    else if (round % 4 == 1)
      ws_group_wait(&group, NULL); // does not help
    else if (round % 4 == 2)
      REQUIRE(ws_group_wait_until(&group, pool, UINT64_MAX) == 0);
    else
      REQUIRE(ws_pool_wait(pool) == 0);
    check(job, round);
    while (!ws_group_done(&group))
      ;
  }
}

/// Either function writes what the waiting thread reads; on_cancel reads what the cancel's caller wrote.
static void cancel(ws_pool_t *pool)
{
  static job_t job[TASKS];
  static ws_key_t key;
  ws_key_init(&key);
  for (long round = 0; round < ROUNDS; round++) {
    ws_group_t group;
    ws_group_init(&group, TASKS);
    for (int i = 0; i < TASKS; i++) {
      job[i] = (job_t){.pool = pool, .in = round + i};
      job[i].keyed =
          (ws_keyed_t){.key = &key, .func = work, .on_cancel = work, .arg = &job[i], .group = &group};
      REQUIRE(ws_pool_push_keyed(pool, &job[i].keyed) == 0);
    }
    REQUIRE(ws_pool_cancel(pool, &key) >= 0);
    ws_group_wait(&group, pool);
    check(job, round);
  }
}

/// A task that pushes itself: each run reads what the one before wrote.
static void again(void *job_arg)
{
  job_t *job = job_arg;
  job->out++;
  if (--job->in > 0)
    REQUIRE(ws_pool_push(job->pool, (ws_task_t){.func = again, .arg = job}) == 0);
}

/// Batches; tasks behind the others.
static void batch_and_again(void)
{
  static job_t job[TASKS];
  ws_pool_t *pool = new_pool(4, true);
  for (long round = 0; round < ROUNDS; round++) {
    ws_task_t task[TASKS];
    for (int i = 0; i < TASKS; i++) {
      job[i] = (job_t){.pool = pool, .in = round + i};
      task[i] = (ws_task_t){.func = round % 2 ? work : nest, .arg = &job[i]};
    }
    REQUIRE(ws_pool_push_batch(pool, task, TASKS) == TASKS);
    job_t own = {.pool = pool, .in = TASKS};
    REQUIRE(ws_pool_push(pool, (ws_task_t){.func = again, .arg = &own}) == 0);
    REQUIRE(ws_pool_wait(pool) == 0);
    check(job, round);
    REQUIRE(own.out == TASKS);
  }
  ws_pool_destroy(pool);
}

static void create_and_abort(void)
{
  static job_t job[TASKS];
  static ws_key_t key;
  ws_key_init(&key);
  for (long round = 0; round < 20; round++) {
    ws_pool_t *pool = new_pool(1, false);
    push_each(pool, job, NULL, round);
    job_t cancelled = {.in = round};
    cancelled.keyed = (ws_keyed_t){.key = &key, .func = work, .on_cancel = work, .arg = &cancelled};
    REQUIRE(ws_pool_push_keyed(pool, &cancelled.keyed) == 0);
    REQUIRE(ws_pool_stop(pool, WS_STOP_ABORT) >= 0);
    REQUIRE(cancelled.out == round + 1);
    for (int i = 0; i < TASKS; i++)
      REQUIRE(job[i].out == -1 || job[i].out == round + i + 1);
    ws_pool_destroy(pool);
  }
}

int main(void)
{
  ws_pool_t *pool = new_pool(4, false);
  for (int i = 0; i < 4; i++)
    REQUIRE(observed[i] == 1);
  wait_for_groups_and_pools(pool);
  cancel(pool);
  ws_pool_destroy(pool);
  batch_and_again();
  create_and_abort();
  return 0;
}
