// SPDX-License-Identifier: BSD-3-Clause
// Eigen's non-blocking ThreadPool and its Barrier. A push into a full queue runs the task in the producer.
#include <cstdint>
#include <memory>
#include <unsupported/Eigen/CXX11/ThreadPool>

#include "pool.hpp"

namespace {

struct EigenPool {
  Eigen::ThreadPool threads;
  std::unique_ptr<Eigen::Barrier> barrier;

  explicit EigenPool(const bench_settings_t &settings) : threads(static_cast<int>(settings.workers)) {}
  void arm(uint32_t count)
  {
    barrier = std::make_unique<Eigen::Barrier>(count); // good for one wait only
  }
  void push(const bench_task_t *task)
  {
    threads.Schedule([of = barrier.get(), task] {
      task->func(task->arg);
      of->Notify();
    });
  }
  void wait() { barrier->Wait(); }
};

} // namespace

BENCH_POOL(EigenPool,
           .version = BENCH_VERSION_TEXT(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION));
