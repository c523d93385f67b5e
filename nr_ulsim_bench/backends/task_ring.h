// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ring.h
/// A first-in first-out queue of tasks that doubles when it is full. Not thread-safe: its user holds a lock.
#ifndef BENCH_TASK_RING_H
#define BENCH_TASK_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_backend.h"

#define TASK_RING_CAPACITY 256u

typedef struct {
  const bench_task_t **tasks;
  uint32_t capacity; ///< 2^k
  uint32_t head; ///< next to take; both indices run through and are cut by the mask, so they may wrap
  uint32_t tail; ///< next to fill
} task_ring_t;

static inline const bench_task_t **task_ring_alloc(uint32_t capacity)
{
  const bench_task_t **const tasks = malloc(capacity * sizeof *tasks);
  if (!tasks) {
    fprintf(stderr, "bench: no memory for a queue of %u tasks\n", capacity);
    abort();
  }
  return tasks;
}

static inline void task_ring_init(task_ring_t *ring)
{
  *ring = (task_ring_t){.tasks = task_ring_alloc(TASK_RING_CAPACITY), .capacity = TASK_RING_CAPACITY};
}

static inline void task_ring_double(task_ring_t *ring)
{
  const bench_task_t **const larger = task_ring_alloc(ring->capacity * 2);
  for (uint32_t i = 0; i < ring->capacity; i++)
    larger[i] = ring->tasks[(ring->head + i) & (ring->capacity - 1)];
  free(ring->tasks);
  *ring = (task_ring_t){.tasks = larger, .capacity = ring->capacity * 2, .tail = ring->capacity};
}

static inline void task_ring_push(task_ring_t *ring, const bench_task_t *task)
{
  if (ring->tail - ring->head == ring->capacity)
    task_ring_double(ring);
  ring->tasks[ring->tail++ & (ring->capacity - 1)] = task;
}

/// @return the oldest task, NULL when there is none
static inline const bench_task_t *task_ring_pop(task_ring_t *ring)
{
  return ring->head == ring->tail ? NULL : ring->tasks[ring->head++ & (ring->capacity - 1)];
}

#endif
