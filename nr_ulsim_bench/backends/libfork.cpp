// SPDX-License-Identifier: BSD-3-Clause
// libfork's lazy_pool, from the user's checkout. Threads that are not its workers can only submit a root
// coroutine and wait for it: pushes are collected, and wait() submits one that runs them all by lf::for_each.
// Its busy_pool takes no part: its workers compute on all CPUs all the time, and the producer has none.
#include <libfork/algorithm/for_each.hpp>
#include <libfork/core.hpp>
#include <libfork/schedule.hpp>

#include "pool.hpp"

namespace {

struct LibforkPool {
  lf::lazy_pool threads;
  TaskBatch batch;

  explicit LibforkPool(const bench_settings_t &settings)
      : threads(settings.workers), batch(settings.tasks_max)
  {
  }
  void push(const bench_task_t *task) { batch.push(task); }
  void wait()
  {
    const auto run_task = [](const bench_task_t *task) { task->func(task->arg); };
    lf::sync_wait(threads, lf::for_each, batch.begin(), batch.end(), run_task);
    batch.clear();
  }
};

} // namespace

BENCH_POOL(LibforkPool, .version = BENCH_VERSION_TEXT(LF_VERSION_MAJOR, LF_VERSION_MINOR, LF_VERSION_PATCH),
           .batches = true);
