// SPDX-License-Identifier: BSD-3-Clause
// libfork's lazy_pool, from the user's checkout. Threads that are not its workers can only submit a root
// coroutine and wait for it: pushes are collected, and wait() submits one that runs them all by lf::for_each.
// Its busy_pool takes no part: its workers compute on all CPUs all the time, and the producer has none.
#include <libfork/algorithm/for_each.hpp>
#include <libfork/core.hpp>
#include <libfork/schedule.hpp>

#include "bench_backend.h"
#include "task_batch.hpp"
#include "version_text.hpp"

namespace {

struct LibforkPool {
  explicit LibforkPool(std::size_t workers) : threads(workers) {}
  lf::lazy_pool threads;
  TaskBatch batch;
};

LibforkPool *self(void *pool)
{
  return static_cast<LibforkPool *>(pool);
}

void run_task(const bench_task_t *task)
{
  task->func(task->arg);
}

void *create(const bench_settings_t *settings)
{
  auto *const pool = new LibforkPool(settings->workers);
  pool->batch.reserve(settings->tasks_max);
  return pool;
}

void push(void *pool, const bench_task_t *task)
{
  self(pool)->batch.push(task);
}

void wait_all(void *arg)
{
  LibforkPool *const pool = self(arg);
  lf::sync_wait(pool->threads, lf::for_each, pool->batch.begin(), pool->batch.end(), run_task);
  pool->batch.clear();
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = BENCH_VERSION_TEXT(LF_VERSION_MAJOR, LF_VERSION_MINOR, LF_VERSION_PATCH);
  backend.has_workers = true;
  backend.batches = true;
  backend.create = create;
  backend.push = push;
  backend.wait = wait_all;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
