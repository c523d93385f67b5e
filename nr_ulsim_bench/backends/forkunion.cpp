// SPDX-License-Identifier: BSD-3-Clause
// ForkUnion, from the user's checkout. It has parallel loops only: pushes are collected, and wait() runs them
// as one loop, on the producer, too. Its workers never sleep unless the program puts them to sleep itself, so
// default and hot are the same.
#include <fork_union.hpp>

#include "pool.hpp"

namespace {

namespace fu = ashvardanian::fork_union;

struct UnionPool {
  fu::basic_pool_t threads;
  TaskBatch batch;
  bool spawned;

  explicit UnionPool(const bench_settings_t &settings)
      : batch(settings.tasks_max), spawned(threads.try_spawn(settings.workers + 1))
  {
  }
  bool usable() const { return spawned; }
  void push(const bench_task_t *task) { batch.push(task); }
  void wait()
  {
    threads.for_n_dynamic(batch.size(), [this](std::size_t index) noexcept { batch.run(index); });
    batch.clear();
  }
};

} // namespace

BENCH_POOL(UnionPool,
           .version = BENCH_VERSION_TEXT(FORK_UNION_VERSION_MAJOR, FORK_UNION_VERSION_MINOR,
                                         FORK_UNION_VERSION_PATCH),
           .waiter_helps = true, .batches = true);
