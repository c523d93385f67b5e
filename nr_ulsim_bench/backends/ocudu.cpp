// SPDX-License-Identifier: BSD-3-Clause
// OCUDU's task_worker_pool, from the user's checkout: one queue for all workers. Default: the queue with a
// mutex and a condition variable. Hot: the lock-free queue, where a worker that finds nothing sleeps for
// 10 us, as OCUDU's gNB sets it for several of its workers.
#include <ocudu/support/executors/task_worker_pool.h>

#include <chrono>
#include <memory>

#include "bench_backend.h"
#include "latch.h"

namespace {

using Policy = ocudu::concurrent_queue_policy;
using Sleeping = ocudu::task_worker_pool<Policy::locking_mpmc>;
using Polling = ocudu::task_worker_pool<Policy::lockfree_mpmc>;

struct OcuduPool {
  latch_t latch;
  std::unique_ptr<Sleeping> sleeping;
  std::unique_ptr<Polling> polling;
};

OcuduPool *self(void *pool)
{
  return static_cast<OcuduPool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  constexpr std::chrono::microseconds sleep_time{10};
  auto *const pool = new OcuduPool;
  latch_init(&pool->latch);
  if (settings->hot)
    pool->polling = std::make_unique<Polling>("bench", settings->workers, settings->tasks_max, sleep_time);
  else
    pool->sleeping = std::make_unique<Sleeping>("bench", settings->workers, settings->tasks_max);
  return pool;
}

void arm(void *pool, uint32_t count)
{
  latch_arm(&self(pool)->latch, count);
}

void push(void *arg, const bench_task_t *task)
{
  OcuduPool *const pool = self(arg);
  const auto run_task = [pool, task] {
    task->func(task->arg);
    latch_count_down(&pool->latch);
  };
  if (pool->polling)
    pool->polling->push_task_blocking(run_task);
  else
    pool->sleeping->push_task_blocking(run_task);
}

void wait_all(void *pool)
{
  latch_wait(&self(pool)->latch);
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = "user's checkout";
  backend.has_workers = true;
  backend.nested_push = true;
  backend.create = create;
  backend.arm = arm;
  backend.push = push;
  backend.wait = wait_all;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
