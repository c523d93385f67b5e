// SPDX-License-Identifier: BSD-3-Clause
// dispenso's ThreadPool and TaskSet, from the user's checkout. Every task is queued (ForceQueuingTag): by
// default a loaded pool runs tasks in the push, which measures no queue.
#include <dispenso/task_set.h>
#include <dispenso/thread_pool.h>

#include "bench_backend.h"

namespace {

struct DispensoPool {
  explicit DispensoPool(uint32_t workers) : threads(workers), tasks(threads) {}
  dispenso::ThreadPool threads;
  dispenso::TaskSet tasks;
};

DispensoPool *self(void *pool)
{
  return static_cast<DispensoPool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  return new DispensoPool(settings->workers);
}

void push(void *pool, const bench_task_t *task)
{
  self(pool)->tasks.schedule([task] { task->func(task->arg); }, dispenso::ForceQueuingTag());
}

void wait_all(void *pool)
{
  self(pool)->tasks.wait();
}

void fork_join(void *pool, const bench_task_t *child, const bench_task_t *own)
{
  dispenso::TaskSet group(self(pool)->threads);
  group.schedule([child] { child->func(child->arg); }, dispenso::ForceQueuingTag());
  own->func(own->arg);
  group.wait();
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = "user's checkout";
  backend.waiter_helps = true;
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
