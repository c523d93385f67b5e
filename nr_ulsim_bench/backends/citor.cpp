// SPDX-License-Identifier: BSD-3-Clause
// citor, from the user's checkout. It has parallel loops only: pushes are collected, and wait() runs them as
// one loop, on the producer, too. It pins its workers to physical cores. Hot = a LowLatencyGuard as long as
// the measurement.
#include <citor/cpos/parallel_for.h>
#include <citor/thread_pool.h>
#include <citor/version.h>

#include "bench_backend.h"
#include "task_batch.hpp"

namespace {

/// A block is a task: without it a block would have several.
struct OneTaskHints : citor::HintsDefaults {
  static constexpr std::size_t chunk = 1;
};

struct CitorPool {
  CitorPool(std::size_t participants, bool hot_wanted) : threads(participants), hot(hot_wanted) {}
  citor::ThreadPool threads;
  TaskBatch batch;
  bool hot;
};

CitorPool *self(void *pool)
{
  return static_cast<CitorPool *>(pool);
}

/// @return NULL where there are fewer physical cores than threads, because citor would start fewer
void *create(const bench_settings_t *settings)
{
  const std::size_t participants = settings->workers + std::size_t{1};
  auto *const pool = new CitorPool(participants, settings->hot);
  pool->batch.reserve(settings->tasks_max);
  if (pool->threads.participants() == participants)
    return pool;
  delete pool;
  return nullptr;
}

void run(void *pool, void (*body)(void *arg), void *arg)
{
  if (!self(pool)->hot) {
    body(arg);
    return;
  }
  const citor::ThreadPool::LowLatencyGuard guard(self(pool)->threads);
  body(arg);
}

void push(void *pool, const bench_task_t *task)
{
  self(pool)->batch.push(task);
}

void wait_all(void *arg)
{
  CitorPool *const pool = self(arg);
  const auto run_block = [pool](std::size_t first, std::size_t last) {
    for (std::size_t index = first; index < last; index++)
      pool->batch.run(index);
  };
  pool->threads.parallelFor<OneTaskHints>(0, pool->batch.size(), run_block);
  pool->batch.clear();
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = CITOR_VERSION_STRING;
  backend.waiter_helps = true;
  backend.has_workers = true;
  backend.batches = true;
  backend.create = create;
  backend.run = run;
  backend.push = push;
  backend.wait = wait_all;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
