// SPDX-License-Identifier: BSD-3-Clause
// Taskflow's Executor, by asynchronous tasks, from the user's checkout.
#include <taskflow/taskflow.hpp>

#include "bench_backend.h"

namespace {

tf::Executor *self(void *pool)
{
  return static_cast<tf::Executor *>(pool);
}

void *create(const bench_settings_t *settings)
{
  return new tf::Executor(settings->workers);
}

void push(void *pool, const bench_task_t *task)
{
  self(pool)->silent_async([task] { task->func(task->arg); });
}

void wait_all(void *pool)
{
  self(pool)->wait_for_all();
}

void fork_join(void *pool, const bench_task_t *child, const bench_task_t *own)
{
  tf::TaskGroup group = self(pool)->task_group();
  group.silent_async([child] { child->func(child->arg); });
  own->func(own->arg);
  group.corun();
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = tf::version();
  backend.has_workers = true;
  backend.create = create;
  backend.push = push;
  backend.wait = wait_all;
  backend.fork_join = fork_join;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
