// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_usual.c
/// ws_usual.h.
#include "ws_usual.h"

#include "ws_seen.h"

#define KIND_BITS 8u

static ws_usual_t kinds[1u << KIND_BITS];
/// Of functions, whatever kind of bursts they run in.
static struct {
  uint64_t func, p99; ///< of the lengths of its tasks
} tasks[1u << KIND_BITS];

uint64_t ws_usual_above(const ws_usual_t *usual, uint64_t func, uint64_t length)
{
  const uint32_t i = ws_hash(func, KIND_BITS);
  const uint64_t p99 = tasks[i].func == func ? tasks[i].p99 : usual ? usual->task_p99 : 0;
  return p99 ? ws_above(length, p99) : 0;
}

void ws_usual_learn_task(ws_usual_t *usual, uint64_t func, uint64_t length)
{
  const uint32_t i = ws_hash(func, KIND_BITS);
  tasks[i].p99 = ws_follow(tasks[i].func == func ? tasks[i].p99 : 0, length, 99, 1);
  tasks[i].func = func;
  usual->task_p99 = ws_follow(usual->task_p99, length, 99, 1);
}

/// @return the kind's key. The burst's has a size below its function (ws_burst.c), which does not count here.
/// That of a phase has no function.
static uint64_t key_of(const ws_late_burst_t *burst)
{
  const uint64_t func = burst->key >> 16;
  return (func ? func : burst->key) + (burst->pool << 48);
}

ws_usual_t ws_usual_of(const ws_late_burst_t *burst)
{
  const ws_usual_t *usual = &kinds[ws_hash(key_of(burst), KIND_BITS)];
  return usual->key == key_of(burst) ? *usual : (ws_usual_t){0};
}

ws_usual_t *ws_usual_place(const ws_late_burst_t *burst)
{
  ws_usual_t *usual = &kinds[ws_hash(key_of(burst), KIND_BITS)];
  if (usual->key != key_of(burst))
    *usual = (ws_usual_t){.key = key_of(burst)};
  return usual;
}

void ws_usual_learn(ws_usual_t *usual, const ws_usual_t *one)
{
  usual->length = ws_follow(usual->length, one->length, 16, 16);
  usual->tasks = ws_follow(usual->tasks, one->tasks, 36, 4); // 36 of 40: the 90th percentile
  usual->task = ws_follow(usual->task, one->task, 16, 16);
  usual->first = ws_follow(usual->first, one->first, 36, 4);
  usual->called = ws_follow(usual->called, one->called, 36, 4);
}
