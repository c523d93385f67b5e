// SPDX-License-Identifier: BSD-3-Clause
// OCUDU's task_worker_pool, from the user's checkout: one queue for all workers. Default: the queue with a
// mutex and a condition variable. Hot: the lock-free queue, where a worker that finds nothing sleeps for
// 10 us, as OCUDU's gNB sets it for several of its workers.
#include <ocudu/support/executors/task_worker_pool.h>

#include <chrono>
#include <memory>

#include "pool.hpp"

namespace {

using Policy = ocudu::concurrent_queue_policy;
using Sleeping = ocudu::task_worker_pool<Policy::locking_mpmc>;
using Polling = ocudu::task_worker_pool<Policy::lockfree_mpmc>;

struct OcuduPool {
  CountedBurst burst;
  std::unique_ptr<Sleeping> sleeping;
  std::unique_ptr<Polling> polling;

  explicit OcuduPool(const bench_settings_t &settings)
  {
    constexpr std::chrono::microseconds sleep_time{10};
    if (settings.hot)
      polling = std::make_unique<Polling>("bench", settings.workers, settings.tasks_max, sleep_time);
    else
      sleeping = std::make_unique<Sleeping>("bench", settings.workers, settings.tasks_max);
  }
  void arm(uint32_t count) { burst.arm(count); }
  void push(const bench_task_t *task)
  {
    const auto run_task = [this, task] { burst.run(task); };
    if (polling)
      polling->push_task_blocking(run_task);
    else
      sleeping->push_task_blocking(run_task);
  }
  void wait() { burst.wait(); }
};

} // namespace

BENCH_POOL(OcuduPool, .version = "user's checkout", .nested_push = true);
