// SPDX-License-Identifier: BSD-3-Clause
// No pool: the producer runs each task in its push. What every pool must beat.
#include "pool.hpp"

namespace {

struct Alone {
  explicit Alone(const bench_settings_t &) {}
  void push(const bench_task_t *task) { task->func(task->arg); }
  void wait() {}
  void fork_join(const bench_task_t *child, const bench_task_t *own)
  {
    child->func(child->arg);
    own->func(own->arg);
  }
};

} // namespace

BENCH_POOL(Alone, .version = "no pool", .waiter_helps = true, .nested_push = true);
