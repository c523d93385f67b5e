// SPDX-License-Identifier: BSD-3-Clause
/// @file scheduler.hpp
/// What the headers of oneTBB call, on ws_pool.h: each function of tbb::detail::r1 that its tests of loops,
/// groups and arenas need. The headers are those of the checkout.
///
/// An arena is a pool. What differs: a thread outside the pool that waits runs what it has spawned itself; a
/// limit of global_control changes max_concurrency() only; the slot of a spawn is ignored; floating-point
/// settings are not carried over; observers are called for the threads of execute() only.
#ifndef WS_PEERS_ONETBB_SCHEDULER_HPP
#define WS_PEERS_ONETBB_SCHEDULER_HPP

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>

#include "oneapi/tbb/global_control.h"
#include "oneapi/tbb/task_arena.h"
#include "oneapi/tbb/task_group.h"
#include "oneapi/tbb/task_scheduler_observer.h"

#include "ws_pool.hpp"

namespace tbb {
namespace detail {
namespace r1 {

/// Of a task that is queued.
struct task_accessor {
  d1::task &of;

  d1::task_group_context *&context() { return reinterpret_cast<d1::task_group_context *&>(of.m_reserved[0]); }
  arena *&in() { return reinterpret_cast<arena *&>(of.m_reserved[1]); }
  const void *&isolation() { return reinterpret_cast<const void *&>(of.m_reserved[2]); }
  std::uint64_t &slot() { return of.m_reserved[3]; }
};

/// Of an arena.
class observer_list {
 public:
  static void observe(d1::task_scheduler_observer &by, bool on);
  void call(void (d1::task_scheduler_observer::*method)(bool));

 private:
  std::mutex mutex_;
  std::list<d1::task_scheduler_observer *> active_;
};

class arena {
 public:
  /// There is always a worker, beside the thread that waits.
  explicit arena(int threads) : concurrency(std::max(threads, 2)), pool_(settings(concurrency)) {}
  /// @brief The arena of threads that are in no other.
  static arena &common();

  ws_pool_t *pool() const { return pool_.native(); }
  /// @brief For one more task_arena.
  arena *share()
  {
    users_++;
    return this;
  }
  void leave()
  {
    if (--users_ == 0)
      delete this;
  }

  const int concurrency; ///< of threads, with the one that waits
  observer_list observers;

 private:
  static ws_settings_t settings(int concurrency)
  {
    ws_settings_t with;
    ws_settings_default(&with);
    with.workers = static_cast<std::uint32_t>(concurrency) - 1;
    return with;
  }

  std::atomic<int> users_{1};
  ws::pool pool_;
};

/// Where the calling thread is. Changes with each task.
struct place {
  arena *in = nullptr; ///< null = the common one
  d1::task_group_context *context = nullptr; ///< of the task; null = outside tasks
  const void *isolation = &everything; ///< a wait runs tasks that were spawned inside the same

  static const std::uint32_t everything;
  static place &here();
  /// Whether the calling thread has used a task or an arena.
  static bool &is_known();

  arena &entered() const { return in ? *in : arena::common(); }
};

/// Sets the place for a scope.
class entry {
 public:
  explicit entry(const place &to) : before_(std::exchange(place::here(), to)) {}
  entry(const entry &) = delete;
  entry &operator=(const entry &) = delete;
  ~entry() { place::here() = before_; }

 private:
  const place before_;
};

/// @brief Queue a task in an arena.
void push(d1::task &task, d1::task_group_context &context, arena &in, const void *isolation);

struct tbb_exception_ptr {
  std::exception_ptr error;
};

struct task_group_context_impl {
  using context = d1::task_group_context;

  /// @brief Make it a child of the caller's context, at its first use.
  static void bind(context &of);
  static bool is_cancelled(const context &of);
  static bool cancel(context &of);
  static void keep_exception(context &of);
  static void rethrow(const context &of);
  static void initialize(context &of);
  static void reset(context &of);
};

} // namespace r1
} // namespace detail
} // namespace tbb

#endif
