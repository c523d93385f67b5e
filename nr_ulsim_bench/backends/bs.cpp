// SPDX-License-Identifier: BSD-3-Clause
// BS::thread_pool (light), from the user's checkout.
#include <BS_thread_pool.hpp>

#include "bench_backend.h"

namespace {

BS::light_thread_pool *self(void *pool)
{
  return static_cast<BS::light_thread_pool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  return new BS::light_thread_pool(settings->workers);
}

void push(void *pool, const bench_task_t *task)
{
  self(pool)->detach_task([task] { task->func(task->arg); });
}

void wait_all(void *pool)
{
  self(pool)->wait();
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
  backend.create = create;
  backend.push = push;
  backend.wait = wait_all;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
