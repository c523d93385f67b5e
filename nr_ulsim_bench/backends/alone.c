// SPDX-License-Identifier: BSD-3-Clause
// No pool: the producer runs each task in its push. What every pool must beat.
#include "bench_backend.h"

static void *create(const bench_settings_t *settings)
{
  return (void *)settings; // no state; any address but NULL
}

static void push(void *pool, const bench_task_t *task)
{
  (void)pool;
  task->func(task->arg);
}

static void nothing(void *pool)
{
  (void)pool;
}

static void fork_join(void *pool, const bench_task_t *child, const bench_task_t *own)
{
  (void)pool;
  child->func(child->arg);
  own->func(own->arg);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "no pool",
    .waiter_helps = true,
    .nested_push = true,
    .create = create,
    .push = push,
    .wait = nothing,
    .fork_join = fork_join,
    .destroy = nothing,
};
