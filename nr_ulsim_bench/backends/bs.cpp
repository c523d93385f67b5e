// SPDX-License-Identifier: BSD-3-Clause
// BS::thread_pool (light), from the user's checkout.
#include <BS_thread_pool.hpp>

#include "pool.hpp"

namespace {

struct BsPool {
  BS::light_thread_pool threads;

  explicit BsPool(const bench_settings_t &settings) : threads(settings.workers) {}
  void push(const bench_task_t *task)
  {
    threads.detach_task([task] { task->func(task->arg); });
  }
  void wait() { threads.wait(); }
};

} // namespace

BENCH_POOL(BsPool, .version = "user's checkout");
