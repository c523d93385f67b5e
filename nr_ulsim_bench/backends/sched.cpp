// SPDX-License-Identifier: BSD-3-Clause
// This project's pool by its interface ws_sched. A post needs a task of the caller's, which is prepared
// before each post: a program would prepare some of its tasks once.
#include <stdlib.h>
#include <ws_sched.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "pool.hpp"

namespace {

/// On a cache line of its own.
struct alignas(64) Task {
  ws_sched_task_t of;
};

struct Sched {
  std::vector<Task> tasks; // the program's own memory, used before
  ws_sched_t *sched;
  std::size_t next = 0;

  explicit Sched(const bench_settings_t &settings)
      : tasks(std::min<uint32_t>(settings.tasks_max, WS_SCHED_CAPACITY_MAX)),
        sched(sched_init(settings.workers, static_cast<uint32_t>(tasks.size())))
  {
  }
  ~Sched() { sched_fini(sched); }
  bool usable() const { return sched; }
  void push(const bench_task_t *task)
  {
    ws_sched_task_t *const own = &tasks[next].of;
    next = next + 1 == tasks.size() ? 0 : next + 1;
    if (sched_task_init(own, task->func, task->arg, WS_PRIORITY_NORMAL) < 0 || sched_post(sched, own) < 0)
      abort(); // more tasks between two waits than announced
  }
  void wait() { sched_execute(sched); }
};

} // namespace

BENCH_POOL(Sched, .version = "this checkout", .waiter_helps = true);
