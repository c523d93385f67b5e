// SPDX-License-Identifier: BSD-3-Clause
/// @file pool.hpp
/// The module of a pool in C++: BENCH_POOL(Class, .version = ..., ...) makes its table from the functions
/// that the class has. It is constructed from bench_settings_t. push() and wait() are needed; arm(), run(),
/// fork_join() and bool usable(), which is asked once, are not. A class without members has no workers.
#ifndef BENCH_POOL_HPP
#define BENCH_POOL_HPP

#include <cstddef>
#include <type_traits>
#include <vector>

#include "bench_backend.h" // IWYU pragma: export
#include "latch.h" // IWYU pragma: export

/// The burst that a pool without a wait of its own counts down.
class CountedBurst {
 public:
  CountedBurst() { latch_init(&latch_); }
  void arm(uint32_t count) { latch_arm(&latch_, count); }
  void wait() { latch_wait(&latch_); }
  void run(const bench_task_t *task)
  {
    task->func(task->arg);
    latch_count_down(&latch_);
  }

 private:
  latch_t latch_{};
};

/// The tasks between two waits, for pools that have no push: they take a burst as one parallel loop.
class TaskBatch {
 public:
  explicit TaskBatch(std::size_t tasks) { tasks_.reserve(tasks); }
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

template <template <class> class Member, class Pool, class = void>
constexpr bool bench_has = false;
template <template <class> class Member, class Pool>
constexpr bool bench_has<Member, Pool, std::void_t<Member<Pool>>> = true;
template <class Pool>
using bench_usable = decltype(&Pool::usable);
template <class Pool>
using bench_arm = decltype(&Pool::arm);
template <class Pool>
using bench_run = decltype(&Pool::run);
template <class Pool>
using bench_fork_join = decltype(&Pool::fork_join);

template <class Pool>
bench_backend_t bench_pool(bench_backend_t table)
{
  table.has_workers = !std::is_empty_v<Pool>;
  table.create = [](const bench_settings_t *settings) -> void * {
    auto *const pool = new Pool(*settings);
    if constexpr (bench_has<bench_usable, Pool>) {
      if (!pool->usable()) {
        delete pool;
        return nullptr;
      }
    }
    return pool;
  };
  table.push = [](void *pool, const bench_task_t *task) { static_cast<Pool *>(pool)->push(task); };
  table.wait = [](void *pool) { static_cast<Pool *>(pool)->wait(); };
  table.destroy = [](void *pool) { delete static_cast<Pool *>(pool); };
  if constexpr (bench_has<bench_arm, Pool>)
    table.arm = [](void *pool, uint32_t count) { static_cast<Pool *>(pool)->arm(count); };
  if constexpr (bench_has<bench_run, Pool>)
    table.run = [](void *pool, void (*body)(void *), void *arg) {
      static_cast<Pool *>(pool)->run(body, arg);
    };
  if constexpr (bench_has<bench_fork_join, Pool>)
    table.fork_join = [](void *pool, const bench_task_t *child, const bench_task_t *own) {
      static_cast<Pool *>(pool)->fork_join(child, own);
    };
  return table;
}

#define BENCH_POOL(Pool, ...)                                                                                \
  extern "C" BENCH_EXPORT const bench_backend_t bench_backend = bench_pool<Pool>({__VA_ARGS__})

#endif
