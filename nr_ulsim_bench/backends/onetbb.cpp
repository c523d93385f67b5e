// SPDX-License-Identifier: BSD-3-Clause
// oneTBB: a task_group in an arena of its workers and the producer, which helps while it waits. Hot = the
// whole measurement is one parallel phase, where workers stay in the arena (versions that have it; older ones
// refuse; 2022 has it as a preview).
#define TBB_PREVIEW_PARALLEL_PHASE 1
#include <cstdint>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include <functional>

#include "pool.hpp"

namespace {

struct TbbPool {
  tbb::global_control limit;
  tbb::task_arena arena;
  tbb::task_group group;
  bool hot;

  explicit TbbPool(const bench_settings_t &settings)
      : limit(tbb::global_control::max_allowed_parallelism, settings.workers + 1),
        arena(static_cast<int>(settings.workers) + 1, 1), hot(settings.hot)
  {
  }
#if TBB_INTERFACE_VERSION >= 12150
  void run(void (*body)(void *arg), void *arg)
  {
    if (hot)
      arena.start_parallel_phase();
    arena.execute([body, arg] { body(arg); });
    if (hot)
      arena.end_parallel_phase();
  }
#else
  bool usable() const
  {
    return !hot;
  }
  void run(void (*body)(void *arg), void *arg)
  {
    arena.execute([body, arg] { body(arg); });
  }
#endif
  void push(const bench_task_t *task)
  {
    group.run([task] { task->func(task->arg); });
  }
  void wait()
  {
    group.wait();
  }
  void fork_join(const bench_task_t *child, const bench_task_t *own)
  {
    tbb::task_group both;
    both.run([child] { child->func(child->arg); });
    own->func(own->arg);
    both.wait();
  }
  /// By the default partitioner.
  static double reduce(void *pool, uint64_t intervals, bench_sum_t sum_piece)
  {
    using Range = tbb::blocked_range<uint64_t>;
    const auto add_piece = [=](const Range &range, double sum) {
      return sum + sum_piece(intervals, range.begin(), range.end());
    };
    return static_cast<TbbPool *>(pool)->arena.execute(
        [&] { return tbb::parallel_reduce(Range(0, intervals), 0.0, add_piece, std::plus<double>()); });
  }
};

} // namespace

BENCH_POOL(TbbPool, .version = TBB_VERSION_STRING, .waiter_helps = true, .nested_push = true,
           .reduce = TbbPool::reduce);
