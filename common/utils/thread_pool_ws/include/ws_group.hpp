// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group.hpp
/// ws::group: tasks that are waited for together.
///
/// @code
///   ws::group group;
///   for (Segment &segment : segments)
///     group.run(pool, [&segment] { decode(segment); });
///   group.wait();   // helps; throws the first exception of the tasks
/// @endcode
#ifndef WS_GROUP_HPP
#define WS_GROUP_HPP

#include "ws_macros_off.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_group.h" // IWYU pragma: export
#include "ws_pool_owner.hpp" // IWYU pragma: export
#include "ws_time.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

namespace detail {
template <typename F, typename Token>
struct member;
class group_awaiter;
} // namespace detail

/// Tasks of one pool that are waited for together. Can be used again after a wait.
class group {
 public:
  group() noexcept { ws_group_init(&units_, 0); }
  group(const group &) = delete;
  group &operator=(const group &) = delete;

  /// @brief Wait, as wait() does. An exception of a task that wait() has not thrown ends the process
  /// (std::terminate), unless the destructor is called because of another exception: it is dropped then.
  ~group()
  {
    join();
    if (std::uncaught_exceptions() <= uncaught_)
      detail::end_with(error_);
  }

  /// @brief Push a callable without arguments as a task of the group. What it returns is ignored.
  /// @param pool  the same in each call until the next wait()
  /// @throws std::system_error  the pool refused the task, as pool::push(); the group does not wait for it
  /// @throws std::bad_alloc, or an exception of the callable's constructor: likewise
  /// @threads   any, several at once. While a thread waits for the group: only tasks of the group
  /// @ordering  as ws_pool_push()
  template <typename F>
  void run(pool &pool, F &&f, hint with = {})
  {
    add(pool, std::forward<F>(f), detail::never_stops(), with);
  }

  /// @brief The same. If a stop is requested before the task begins, it does not run, and wait() throws
  /// ws::cancelled.
  template <typename F, typename Token, typename = detail::if_token<Token>>
  void run(pool &pool, F &&f, Token token, hint with = {})
  {
    add(pool, std::forward<F>(f), std::move(token), with);
  }

  /// @brief The same, with a key whose cancel() has the same effect.
  template <typename F>
  void run(pool &pool, F &&f, key &with_key, hint with = {})
  {
    add(pool, std::forward<F>(f), detail::keyed(with_key), with);
  }

  /// @brief Block until all tasks have ended, and run tasks of the group meanwhile: ws_group_wait().
  /// @return true; in a build without exceptions false if a task was skipped
  /// @throws the exception of the task that threw first; else ws::cancelled if a task was skipped, because of
  ///         a stop or of an abort of the pool
  /// @threads   one, which may be in a task: see ws_group_wait()
  /// @ordering  [edge GROUP_DONE] the caller sees what the tasks wrote
  bool wait()
  {
    join();
    // relaxed: GROUP_DONE orders it
    const bool all_ran = !skipped_.exchange(false, std::memory_order_relaxed);
    failed_.store(false, std::memory_order_relaxed); // relaxed: no task of the group runs
    detail::rethrow(std::exchange(error_, nullptr));
#if WS_EXCEPTIONS
    if (!all_ran)
      throw cancelled();
#endif
    return all_ran;
  }

  /// @brief As wait(), but for a time at most: ws_group_wait_until(), which names how late it may return. The
  /// destructor waits for the tasks that are left.
  /// @return true = all tasks have ended; false = the time is over. In a build without exceptions a call of
  ///         wait() afterwards returns whether a task was skipped
  /// @throws as wait(), when all tasks have ended
  /// @threads   as wait()
  template <typename Rep, typename Period>
  bool wait_for(const std::chrono::duration<Rep, Period> &time)
  {
    return wait_to(detail::deadline_after(time));
  }
  template <typename Clock, typename Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration> &time)
  {
    return detail::wait_until_time(time, [this](std::uint64_t deadline_ns) { return wait_to(deadline_ns); });
  }

 private:
  template <typename F, typename Token>
  friend struct detail::member;
  friend class detail::group_awaiter;

  /// The pool may have been destroyed if all tasks have ended.
  ws_pool_t *helps_in() const noexcept
  {
    // relaxed: a thread that waits has called run() itself, or has seen that a thread did
    return ws_group_done(&units_) ? nullptr : in_.load(std::memory_order_relaxed);
  }
  void join() noexcept
  {
    ws_group_wait(&units_, helps_in());
  }

  bool wait_to(std::uint64_t deadline_ns)
  {
    if (ws_group_wait_until(&units_, helps_in(), deadline_ns) < 0)
      return false;
#if WS_EXCEPTIONS
    wait();
#endif
    return true;
  }

  template <typename F, typename Token>
  void add(pool &pool, F &&f, Token token, hint with)
  {
    using Body = detail::member<detail::held<F>, Token>;
    static_assert(detail::check_callable<std::decay_t<F>>());
    Body body(*this, detail::hold(std::forward<F>(f)), std::move(token));
    in_.store(pool.native(), std::memory_order_relaxed); // relaxed: see join()
    unit added(units_);
    const int error = detail::push_body(pool.native(), std::move(body), with, &units_, detail::push_of(f));
    if (error < 0)
      detail::fail(-error, "ws::group::run");
    added.kept = true;
  }

  /// A unit that is completed by hand if its task was not pushed.
  struct unit {
    explicit unit(ws_group_t &units) noexcept : of(units) { ws_group_add(&of, 1); }
    unit(const unit &) = delete;
    unit &operator=(const unit &) = delete;
    ~unit()
    {
      if (!kept)
        ws_group_complete(&of, 1);
    }
    ws_group_t &of;
    bool kept = false;
  };

  ws_group_t units_;
  const int uncaught_ = std::uncaught_exceptions();
  std::atomic<ws_pool_t *> in_{nullptr};
  std::atomic<bool> failed_{false}, skipped_{false};
  std::exception_ptr error_; ///< of the first task that failed: written by its thread, before GROUP_DONE
};

namespace detail {

/// A callable of a group.
template <typename F, typename Token>
struct member : Token {
  template <typename Callable>
  member(group &its_group, Callable &&callable, Token &&with_token)
      : Token(std::move(with_token)), of(&its_group), f(std::forward<Callable>(callable))
  {
  }

  group *of;
  F f;

  no_last last() noexcept { return {}; }
  void run(no_last last)
  {
    if (Token::stop_requested()) {
      drop(last, SKIPPED);
      return;
    }
    const waits_of_call<is_held_fiber<F>, Token> waits(*this);
    std::exception_ptr error = attempt([this] { static_cast<void>(std::move(f)()); });
    // relaxed: the first one wins; wait() reads after GROUP_DONE
    if (error && !of->failed_.exchange(true, std::memory_order_relaxed))
      of->error_ = std::move(error);
  }
  void drop(no_last, int why) noexcept
  {
    if (why == SKIPPED)
      of->skipped_.store(true, std::memory_order_relaxed); // relaxed: GROUP_DONE orders it
  }
};

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
