// SPDX-License-Identifier: BSD-3-Clause
/// @file task_batch.hpp
/// The tasks between two waits, for pools that have no push: they take a burst as one parallel loop.
#ifndef BENCH_TASK_BATCH_HPP
#define BENCH_TASK_BATCH_HPP

#include <cstddef>
#include <vector>

#include "bench_backend.h"

class TaskBatch {
 public:
  void reserve(std::size_t tasks) { tasks_.reserve(tasks); }
  void push(const bench_task_t *task) { tasks_.push_back(task); }
  void clear() { tasks_.clear(); }
  std::size_t size() const { return tasks_.size(); }
  /// Any thread, each index once.
  void run(std::size_t index) const { tasks_[index]->func(tasks_[index]->arg); }
  const bench_task_t *const *begin() const { return tasks_.data(); }
  const bench_task_t *const *end() const { return tasks_.data() + tasks_.size(); }

 private:
  std::vector<const bench_task_t *> tasks_;
};

#endif
