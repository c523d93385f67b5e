// SPDX-License-Identifier: BSD-3-Clause
/// @file team.h
/// No pool: threads that all wake for each burst, by its last push. Thread i of w runs the tasks i, i + w,
/// i + 2w ... For the part `wake`: what a wake by the primitive itself takes.
///
/// The including file defines
///   gate_t and  void gate_init(gate_t *gate, uint32_t threads)
///   void gate_pass(gate_t *gate)  returns when the producer and all workers have come
#ifndef BENCH_TEAM_H
#define BENCH_TEAM_H

#include <stdlib.h>

#include "bench_backend.h"

typedef struct {
  gate_t begin, end; ///< of a burst
  uint32_t workers, count, pushed, started;
  bool over;
  const bench_task_t **task;
} team_t;

static void *team_work(void *team_arg)
{
  team_t *const team = team_arg;
  const uint32_t own = __atomic_fetch_add(&team->started, 1, __ATOMIC_RELAXED);
  for (;;) {
    gate_pass(&team->begin);
    if (team->over)
      return NULL;
    for (uint32_t i = own; i < team->count; i += team->workers)
      team->task[i]->func(team->task[i]->arg);
    gate_pass(&team->end);
  }
}

static void team_arm(void *pool, uint32_t count)
{
  team_t *const team = pool;
  team->count = count;
  team->pushed = 0;
}

static void team_push(void *pool, const bench_task_t *task)
{
  team_t *const team = pool;
  team->task[team->pushed++] = task;
  if (team->pushed == team->count)
    gate_pass(&team->begin);
}

static void team_wait(void *pool)
{
  gate_pass(&((team_t *)pool)->end);
}

static void team_destroy(void *pool)
{
  team_t *const team = pool;
  team->over = true;
  gate_pass(&team->begin); // the process ends: the threads need not be joined
}

static void *team_create(const bench_settings_t *settings)
{
  team_t *const team = calloc(1, sizeof *team);
  if (!team || !(team->task = calloc(settings->tasks_max, sizeof(void *))))
    return NULL;
  team->workers = settings->workers;
  gate_init(&team->begin, settings->workers + 1);
  gate_init(&team->end, settings->workers + 1);
  for (uint32_t i = 0; i < settings->workers; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, team_work, team) != 0)
      return NULL;
  }
  return team;
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "part of this benchmark",
    .has_workers = true,
    .create = team_create,
    .arm = team_arm,
    .push = team_push,
    .wait = team_wait,
    .destroy = team_destroy,
};

#endif
