// SPDX-License-Identifier: BSD-3-Clause
// Boost.Asio's thread_pool. Its join() ends the pool, so a latch counts the burst.
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/version.hpp>

#include "bench_backend.h"
#include "latch.h"

namespace {

struct AsioPool {
  explicit AsioPool(uint32_t workers) : threads(workers) { latch_init(&latch); }
  boost::asio::thread_pool threads;
  latch_t latch;
};

AsioPool *self(void *pool)
{
  return static_cast<AsioPool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  return new AsioPool(settings->workers);
}

void arm(void *pool, uint32_t count)
{
  latch_arm(&self(pool)->latch, count);
}

void push(void *pool, const bench_task_t *task)
{
  AsioPool *const asio = self(pool);
  boost::asio::post(asio->threads, [asio, task] {
    task->func(task->arg);
    latch_count_down(&asio->latch);
  });
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
  backend.version = BOOST_LIB_VERSION;
  backend.has_workers = true;
  backend.create = create;
  backend.arm = arm;
  backend.push = push;
  backend.wait = wait_all;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
