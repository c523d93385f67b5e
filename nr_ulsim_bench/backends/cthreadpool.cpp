// SPDX-License-Identifier: BSD-3-Clause
// C-Thread-Pool, by its own wait. The library is one C file, which is compiled into this module.
#include <thpool.h>

#include "pool.hpp"

namespace {

struct CThreadPool {
  threadpool pool;

  explicit CThreadPool(const bench_settings_t &settings)
      : pool(thpool_init(static_cast<int>(settings.workers)))
  {
  }
  ~CThreadPool() { thpool_destroy(pool); }
  void push(const bench_task_t *task) { thpool_add_work(pool, task->func, task->arg); }
  void wait() { thpool_wait(pool); }
};

} // namespace

BENCH_POOL(CThreadPool, .version = "as found, it has no number");
