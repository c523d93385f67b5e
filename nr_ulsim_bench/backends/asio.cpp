// SPDX-License-Identifier: BSD-3-Clause
// Boost.Asio's thread_pool. Its join() ends the pool, so a latch counts the burst.
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/version.hpp>
#include <cstdint>

#include "pool.hpp"

namespace {

struct AsioPool {
  boost::asio::thread_pool threads;
  CountedBurst burst;

  explicit AsioPool(const bench_settings_t &settings) : threads(settings.workers) {}
  void arm(uint32_t count) { burst.arm(count); }
  void push(const bench_task_t *task)
  {
    boost::asio::post(threads, [this, task] { burst.run(task); });
  }
  void wait() { burst.wait(); }
};

} // namespace

BENCH_POOL(AsioPool, .version = BOOST_LIB_VERSION);
