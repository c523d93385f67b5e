// SPDX-License-Identifier: BSD-3-Clause
// ForkUnion, from the user's checkout. It has parallel loops only: pushes are collected, and wait() runs them
// as one loop, on the producer, too. Its workers never sleep unless the program puts them to sleep itself, so
// default and hot are the same.
#include <fork_union.hpp>

#include "bench_backend.h"
#include "task_batch.hpp"
#include "version_text.hpp"

namespace {

namespace fu = ashvardanian::fork_union;

struct UnionPool {
  fu::basic_pool_t threads;
  TaskBatch batch;
};

UnionPool *self(void *pool)
{
  return static_cast<UnionPool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  auto *const pool = new UnionPool;
  pool->batch.reserve(settings->tasks_max);
  if (pool->threads.try_spawn(settings->workers + 1))
    return pool;
  delete pool;
  return nullptr;
}

void push(void *pool, const bench_task_t *task)
{
  self(pool)->batch.push(task);
}

void wait_all(void *arg)
{
  UnionPool *const pool = self(arg);
  pool->threads.for_n_dynamic(pool->batch.size(),
                              [pool](std::size_t index) noexcept { pool->batch.run(index); });
  pool->batch.clear();
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version =
      BENCH_VERSION_TEXT(FORK_UNION_VERSION_MAJOR, FORK_UNION_VERSION_MINOR, FORK_UNION_VERSION_PATCH);
  backend.waiter_helps = true;
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
