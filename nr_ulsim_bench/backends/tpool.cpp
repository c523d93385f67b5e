// SPDX-License-Identifier: BSD-3-Clause
// This project's pool by its interface tpool. The buffer holds all tasks between two waits: a producer that
// blocks would measure the bound.
#include <tpool.h>

#include <algorithm>

#include "pool.hpp"

namespace {

struct Tpool {
  tpool *pool;

  explicit Tpool(const bench_settings_t &settings)
      : pool(tpool_create(static_cast<int>(settings.workers),
                          static_cast<int>(std::min<uint32_t>(settings.tasks_max, TPOOL_BUFFER_MAX))))
  {
  }
  ~Tpool() { tpool_destroy(pool); }
  bool usable() const { return pool; }
  void push(const bench_task_t *task) { tpool_add(pool, task->func, task->arg); }
  void wait() { tpool_wait(pool); }
};

} // namespace

BENCH_POOL(Tpool, .version = "this checkout", .waiter_helps = true);
