// SPDX-License-Identifier: BSD-3-Clause
// This project's pool by its interface task_manager.
#include <task_manager.h>

#include "pool.hpp"

namespace {

struct TaskManager {
  task_manager_t man{};

  explicit TaskManager(const bench_settings_t &settings) { init_task_manager(&man, settings.workers); }
  ~TaskManager() { free_task_manager(&man, nullptr); }
  void push(const bench_task_t *task)
  {
    async_task_manager(&man, task_t{.args = task->arg, .func = task->func});
  }
  void wait() { wait_all_task_manager(&man); }
};

} // namespace

BENCH_POOL(TaskManager, .version = "this checkout", .waiter_helps = true);
