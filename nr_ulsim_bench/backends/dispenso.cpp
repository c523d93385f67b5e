// SPDX-License-Identifier: BSD-3-Clause
// dispenso's ThreadPool and TaskSet, from the user's checkout. Every task is queued (ForceQueuingTag): by
// default a loaded pool runs tasks in the push, which measures no queue.
#include <dispenso/task_set.h>
#include <dispenso/thread_pool.h>

#include "pool.hpp"

namespace {

struct DispensoPool {
  dispenso::ThreadPool threads;
  dispenso::TaskSet tasks;

  explicit DispensoPool(const bench_settings_t &settings) : threads(settings.workers), tasks(threads) {}
  void push(const bench_task_t *task)
  {
    tasks.schedule([task] { task->func(task->arg); }, dispenso::ForceQueuingTag());
  }
  void wait() { tasks.wait(); }
  void fork_join(const bench_task_t *child, const bench_task_t *own)
  {
    dispenso::TaskSet group(threads);
    group.schedule([child] { child->func(child->arg); }, dispenso::ForceQueuingTag());
    own->func(own->arg);
    group.wait();
  }
};

} // namespace

BENCH_POOL(DispensoPool, .version = "user's checkout", .waiter_helps = true);
