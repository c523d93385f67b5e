// SPDX-License-Identifier: BSD-3-Clause
// citor, from the user's checkout. It has parallel loops only: pushes are collected, and wait() runs them as
// one loop, on the producer, too. It pins its workers to physical cores. Hot = a LowLatencyGuard as long as
// the measurement.
#include <citor/cpos/parallel_for.h>
#include <citor/thread_pool.h>
#include <citor/version.h>

#include "pool.hpp"

namespace {

/// A block is a task: without it a block would have several.
struct OneTaskHints : citor::HintsDefaults {
  static constexpr std::size_t chunk = 1;
};

struct CitorPool {
  std::size_t participants;
  bool hot;
  citor::ThreadPool threads;
  TaskBatch batch;

  explicit CitorPool(const bench_settings_t &settings)
      : participants(settings.workers + std::size_t{1}), hot(settings.hot), threads(participants),
        batch(settings.tasks_max)
  {
  }
  /// @return false where there are fewer physical cores than threads, because citor started fewer
  bool usable() const { return threads.participants() == participants; }
  void run(void (*body)(void *arg), void *arg)
  {
    if (!hot) {
      body(arg);
      return;
    }
    const citor::ThreadPool::LowLatencyGuard guard(threads);
    body(arg);
  }
  void push(const bench_task_t *task) { batch.push(task); }
  void wait()
  {
    threads.parallelFor<OneTaskHints>(0, batch.size(), [this](std::size_t first, std::size_t last) {
      for (std::size_t index = first; index < last; index++)
        batch.run(index);
    });
    batch.clear();
  }
};

} // namespace

BENCH_POOL(CitorPool, .version = CITOR_VERSION_STRING, .waiter_helps = true, .batches = true);
