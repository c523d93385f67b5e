// SPDX-License-Identifier: BSD-3-Clause
// Taskflow's Executor, by asynchronous tasks, from the user's checkout.
#include <taskflow/taskflow.hpp>

#include "pool.hpp"

namespace {

struct TaskflowPool {
  tf::Executor executor;

  explicit TaskflowPool(const bench_settings_t &settings) : executor(settings.workers) {}
  void push(const bench_task_t *task)
  {
    executor.silent_async([task] { task->func(task->arg); });
  }
  void wait() { executor.wait_for_all(); }
  void fork_join(const bench_task_t *child, const bench_task_t *own)
  {
    tf::TaskGroup group = executor.task_group();
    group.silent_async([child] { child->func(child->arg); });
    own->func(own->arg);
    group.corun();
  }
};

} // namespace

BENCH_POOL(TaskflowPool, .version = tf::version());
