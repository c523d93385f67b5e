// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sync.hpp
/// Locks and other waits as the standard library has them, for fibers, tasks and threads: ws::mutex,
/// ws::recursive_mutex, ws::shared_mutex, ws::condition_variable, ws::counting_semaphore, ws::latch,
/// ws::barrier. They are ws_sync.h with the names of C++. Link the library thread_pool_ws_fiber.
///
/// @code
///   ws::mutex lock;
///   ws::condition_variable changed;
///   std::unique_lock<ws::mutex> held(lock);
///   changed.wait(held, [&] { return ready; });   // in a fiber: the worker runs other tasks
/// @endcode
///
/// The rules of ws_sync.h for tasks that wait, and for the order of waits, apply. std::lock_guard,
/// std::unique_lock, std::scoped_lock and std::shared_lock work with these locks.
/// A cancel (ws_cancel_t, or a stop token: ws_stop.hpp), and WS_STOP_ABORT in a fiber, end a wait:
/// - lock() and lock_shared() are not ended;
/// - functions whose names begin with try_ return false;
/// - all other waits throw ws::cancelled. Without exceptions in the build the process ends with a message.
/// In a fiber a try_lock(), try_acquire() or try_wait() that fails may yield: ws_yield_sometimes().
/// @threads all functions: any, several at once, unless noted
#ifndef WS_SYNC_HPP
#define WS_SYNC_HPP

#include "ws_macros_off.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "ws_macros_on.hpp"

#include "ws_except.hpp" // IWYU pragma: export
#include "ws_fiber.h" // IWYU pragma: export
#include "ws_stop_scope.hpp" // IWYU pragma: export
#include "ws_sync.h" // IWYU pragma: export
#include "ws_time.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

/// @brief Report the end of a wait that has no other way to name a cancel. @param result  of ws_sync.h
inline void check_cancel(int result, const char *what)
{
  if (result == -ECANCELED)
    fail_cancelled(what);
}

/// @brief Call @p wait with a deadline in ns, again if the clock was set meanwhile. @return its last result
template <typename Clock, typename Duration, typename Wait>
int result_until(const std::chrono::time_point<Clock, Duration> &time, Wait &&wait)
{
  int result = -ETIMEDOUT;
  wait_until_time(time, [&](std::uint64_t deadline_ns) {
    result = wait(deadline_ns);
    return result != -ETIMEDOUT;
  });
  return result;
}

} // namespace detail

/// A std::timed_mutex: a lock that one fiber, task or thread owns. Not recursive.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex &) = delete;
  mutex &operator=(const mutex &) = delete;

  void lock() noexcept { ws_mutex_lock(&native_); }
  bool try_lock() noexcept { return ws_mutex_trylock(&native_); }
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
  {
    return ws_mutex_lock_until(&native_, detail::deadline_after(time)) == 0;
  }
  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
  {
    return detail::result_until(time, [this](std::uint64_t ns) { return ws_mutex_lock_until(&native_, ns); })
           == 0;
  }
  /// @brief Unlock, also on another thread than the one that locked. Of a free mutex: ends the process with a
  /// message.
  void unlock() noexcept { ws_mutex_unlock(&native_); }

  ws_mutex_t *native() noexcept { return &native_; }

 private:
  ws_mutex_t native_ = WS_MUTEX_INIT;
};
using timed_mutex = mutex;

/// A std::recursive_timed_mutex: its owner may lock it again. The owner is the fiber that has locked it, or
/// the thread outside fibers: tasks that a thread runs inside one another are one owner.
class recursive_mutex {
 public:
  recursive_mutex() noexcept = default;
  recursive_mutex(const recursive_mutex &) = delete;
  recursive_mutex &operator=(const recursive_mutex &) = delete;

  void lock() noexcept
  {
    enter([this] { return (lock_.lock(), true); });
  }
  bool try_lock() noexcept
  {
    return enter([this] { return lock_.try_lock(); });
  }
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
  {
    return enter([&, this] { return lock_.try_lock_for(time); });
  }
  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
  {
    return enter([&, this] { return lock_.try_lock_until(time); });
  }
  /// Of a caller that is not the owner: ends the process with a message.
  void unlock() noexcept
  {
    // relaxed: only the caller itself can have written its own address
    if (owner_.load(std::memory_order_relaxed) != ws_caller_id())
      detail::misused("ws::recursive_mutex::unlock", "the caller does not own it");
    if (--depth_ > 0)
      return;
    owner_.store(nullptr, std::memory_order_relaxed); // relaxed: as above
    lock_.unlock();
  }

 private:
  template <typename Lock>
  bool enter(Lock &&lock)
  {
    const void *self = ws_caller_id();
    // relaxed: only the caller itself can have written its own address
    if (owner_.load(std::memory_order_relaxed) != self && !lock())
      return false;
    owner_.store(self, std::memory_order_relaxed); // relaxed: as above
    depth_++;
    return true;
  }

  mutex lock_;
  std::atomic<const void *> owner_{nullptr}; ///< ws_caller_id()
  std::uint64_t depth_ = 0; ///< the owner's
};
using recursive_timed_mutex = recursive_mutex;

/// A std::shared_timed_mutex: one owner that writes, or several that read. Owners and waits take turns: a
/// lock_shared() that begins after a lock() waits for that owner.
///
/// door: each lock passes it. A writer keeps it until it unlocks, a reader until it is counted.
/// room: belongs to a writer, or to the readers together: the first locks it, the last unlocks it.
class shared_mutex {
 public:
  shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex &) = delete;
  shared_mutex &operator=(const shared_mutex &) = delete;

  void lock() noexcept
  {
    door_.lock();
    room_.lock();
  }
  /// @return false also if a lock_shared() is under way at that moment
  bool try_lock() noexcept
  {
    return enter([](mutex &each) { return each.try_lock(); });
  }
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
  {
    const std::uint64_t ns = detail::deadline_after(time);
    return enter([ns](mutex &each) { return ws_mutex_lock_until(each.native(), ns) == 0; });
  }
  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
  {
    return enter([&time](mutex &each) { return each.try_lock_until(time); });
  }
  void unlock() noexcept
  {
    room_.unlock();
    door_.unlock();
  }

  void lock_shared() noexcept
  {
    door_.lock();
    // acq_rel: a reader comes after the last of the readers before, who unlocks the room
    if (readers_.fetch_add(1, std::memory_order_acq_rel) == 0)
      room_.lock();
    door_.unlock();
  }
  /// @return false also if another lock or unlock is under way at that moment
  bool try_lock_shared() noexcept
  {
    return enter_shared([](mutex &each) { return each.try_lock(); });
  }
  template <typename Rep, typename Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
  {
    const std::uint64_t ns = detail::deadline_after(time);
    return enter_shared([ns](mutex &each) { return ws_mutex_lock_until(each.native(), ns) == 0; });
  }
  template <typename Clock, typename Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
  {
    return enter_shared([&time](mutex &each) { return each.try_lock_until(time); });
  }
  /// Of a lock without readers: ends the process with a message.
  void unlock_shared() noexcept
  {
    // acq_rel: what each reader did comes before the unlock of the room, and so before the next writer
    const std::uint32_t before = readers_.fetch_sub(1, std::memory_order_acq_rel);
    if (before == 0)
      detail::misused("ws::shared_mutex::unlock_shared", "no reader has locked it");
    if (before == 1)
      room_.unlock();
  }

 private:
  template <typename Lock>
  bool enter(Lock &&lock)
  {
    if (!lock(door_))
      return false;
    if (lock(room_))
      return true;
    door_.unlock();
    return false;
  }
  template <typename Lock>
  bool enter_shared(Lock &&lock)
  {
    if (!lock(door_))
      return false;
    // acq_rel: as in lock_shared(). No other reader is counted as long as the door is locked, so a first
    // reader that does not get the room can take its count back
    const bool entered = readers_.fetch_add(1, std::memory_order_acq_rel) > 0 || lock(room_);
    if (!entered)
      readers_.fetch_sub(1, std::memory_order_relaxed); // relaxed: nothing was read
    door_.unlock();
    return entered;
  }

  mutex door_, room_;
  std::atomic<std::uint32_t> readers_{0};
};
using shared_timed_mutex = shared_mutex;

/// A std::condition_variable for std::unique_lock<ws::mutex>. All waits at one time use one mutex. May be
/// destroyed when all waits have been notified, as there.
class condition_variable {
 public:
  using lock_type = std::unique_lock<mutex>;

  constexpr condition_variable() noexcept = default;
  condition_variable(const condition_variable &) = delete;
  condition_variable &operator=(const condition_variable &) = delete;

  void notify_one() noexcept { ws_cond_signal(&native_); }
  void notify_all() noexcept { ws_cond_broadcast(&native_); }

  /// @brief Wait for a notify; may return without one. The lock is held afterwards, also after an exception.
  void wait(lock_type &lock)
  {
    detail::check_cancel(ws_cond_wait(&native_, mutex_of(lock)), "ws::condition_variable::wait");
  }
  template <typename Ready>
  void wait(lock_type &lock, Ready ready)
  {
    while (!ready())
      wait(lock);
  }

  /// @brief As wait(lock, ready), until a stop is requested. Meanwhile the caller's own cancel token does not
  /// end the wait.
  /// @return ready()
  template <typename Token, typename Ready, typename = detail::if_token<Token>>
  bool wait(lock_type &lock, Token token, Ready ready)
  {
    while (!ready()) {
      if (token.stop_requested())
        return false;
      const stop_scope<Token> scope(token);
      const int result = ws_cond_wait(&native_, mutex_of(lock));
      if (!token.stop_requested())
        detail::check_cancel(result, "ws::condition_variable::wait");
    }
    return true;
  }

  template <typename Rep, typename Period>
  std::cv_status wait_for(lock_type &lock, const std::chrono::duration<Rep, Period> &time)
  {
    return status_of(wait_to(lock, detail::deadline_after(time)));
  }
  template <typename Clock, typename Duration>
  std::cv_status wait_until(lock_type &lock, const std::chrono::time_point<Clock, Duration> &time)
  {
    return status_of(detail::result_until(time, [&, this](std::uint64_t ns) { return wait_to(lock, ns); }));
  }
  /// @return ready()
  template <typename Rep, typename Period, typename Ready>
  bool wait_for(lock_type &lock, const std::chrono::duration<Rep, Period> &time, Ready ready)
  {
    const std::uint64_t deadline_ns = detail::deadline_after(time);
    while (!ready())
      if (wait_to(lock, deadline_ns) == -ETIMEDOUT)
        return ready();
    return true;
  }
  template <typename Clock, typename Duration, typename Ready>
  bool wait_until(lock_type &lock, const std::chrono::time_point<Clock, Duration> &time, Ready ready)
  {
    while (!ready())
      if (wait_until(lock, time) == std::cv_status::timeout)
        return ready();
    return true;
  }

  ws_cond_t *native() noexcept { return &native_; }

 private:
  static ws_mutex_t *mutex_of(lock_type &lock) noexcept
  {
    if (!lock.owns_lock())
      detail::misused("ws::condition_variable::wait", "the lock is not held");
    return lock.mutex()->native();
  }
  int wait_to(lock_type &lock, std::uint64_t deadline_ns)
  {
    const int result = ws_cond_wait_until(&native_, mutex_of(lock), deadline_ns);
    detail::check_cancel(result, "ws::condition_variable::wait_until");
    return result;
  }
  static std::cv_status status_of(int result) noexcept
  {
    return result == -ETIMEDOUT ? std::cv_status::timeout : std::cv_status::no_timeout;
  }

  ws_cond_t native_ = WS_COND_INIT;
};

/// A std::counting_semaphore.
template <std::ptrdiff_t least_max = WS_SEM_UNITS_MAX>
class counting_semaphore {
  static_assert(least_max >= 0 && least_max <= WS_SEM_UNITS_MAX,
                "ws: a semaphore has WS_SEM_UNITS_MAX units at most");

 public:
  /// @param units  0 .. max(). Another number ends the process with a message
  explicit counting_semaphore(std::ptrdiff_t units) noexcept { ws_sem_init(&native_, checked(units)); }
  counting_semaphore(const counting_semaphore &) = delete;
  counting_semaphore &operator=(const counting_semaphore &) = delete;

  static constexpr std::ptrdiff_t(max)() noexcept { return WS_SEM_UNITS_MAX; }

  /// @brief Give @p units: first to the oldest waits. More than max() in all end the process with a message.
  void release(std::ptrdiff_t units = 1) noexcept { ws_sem_post(&native_, checked(units)); }
  void acquire() { detail::check_cancel(ws_sem_wait(&native_), "ws::counting_semaphore::acquire"); }
  bool try_acquire() noexcept { return ws_sem_trywait(&native_); }
  template <typename Rep, typename Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period> &time)
  {
    return ws_sem_wait_until(&native_, detail::deadline_after(time)) == 0;
  }
  template <typename Clock, typename Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time)
  {
    return detail::result_until(time, [this](std::uint64_t ns) { return ws_sem_wait_until(&native_, ns); })
           == 0;
  }

 private:
  /// A number that the functions of C refuse, in place of one that they cannot hold.
  static constexpr std::uint32_t checked(std::ptrdiff_t units) noexcept
  {
    return units >= 0 && units <= WS_SEM_UNITS_MAX ? static_cast<std::uint32_t>(units) : UINT32_MAX;
  }

  ws_sem_t native_;
};
using binary_semaphore = counting_semaphore<1>;

/// A std::latch. May be destroyed when all waits have returned.
class latch {
 public:
  /// @param count  0 .. max(). Another number ends the process with a message
  explicit latch(std::ptrdiff_t count) noexcept
  {
    ws_latch_init(&native_, checked(count, "ws::latch::latch"));
  }
  latch(const latch &) = delete;
  latch &operator=(const latch &) = delete;

  static constexpr std::ptrdiff_t(max)() noexcept { return INT32_MAX; }

  /// @param count  0 .. what is left. Another number ends the process with a message
  void count_down(std::ptrdiff_t count = 1) noexcept
  {
    ws_latch_count_down(&native_, checked(count, "ws::latch::count_down"));
  }
  bool try_wait() const noexcept
  {
    if (ws_latch_try(&native_))
      return true;
    ws_yield_sometimes();
    return false;
  }
  void wait() const { detail::check_cancel(ws_latch_wait(&native_), "ws::latch::wait"); }
  void arrive_and_wait(std::ptrdiff_t count = 1)
  {
    count_down(count);
    wait();
  }

 private:
  static std::uint32_t checked(std::ptrdiff_t count, const char *call) noexcept
  {
    if (count < 0 || count > (max)())
      detail::misused(call, "the number is below 0, or too large");
    return static_cast<std::uint32_t>(count);
  }

  mutable ws_latch_t native_;
};

namespace detail {
struct no_completion {
  void operator()() const noexcept {}
};
} // namespace detail

/// A std::barrier: @p Completion is called, without exceptions, by the last call that arrives in a phase,
/// before the others continue. It must not use the barrier.
template <typename Completion = detail::no_completion>
class barrier {
  static_assert(std::is_nothrow_invocable_v<Completion &>, "ws: a barrier's completion must be noexcept");

 public:
  /// A phase that a caller has arrived in.
  class arrival_token {
    friend class barrier;
    explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
    std::uint64_t phase_;
  };

  /// @param parties  0 .. max(). Another number ends the process with a message
  explicit barrier(std::ptrdiff_t parties, Completion completion = Completion())
      : parties_(parties), missing_(parties), completion_(std::move(completion))
  {
    if (parties < 0)
      detail::misused("ws::barrier::barrier", "the number of parties is below 0");
  }
  barrier(const barrier &) = delete;
  barrier &operator=(const barrier &) = delete;

  static constexpr std::ptrdiff_t(max)() noexcept { return PTRDIFF_MAX; }

  /// @brief Arrive without waiting. @param count  1 .. what is missing in this phase. Another number ends the
  /// process with a message
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t count = 1)
  {
    const std::lock_guard<mutex> held(lock_);
    return arrive_locked(count);
  }
  /// @brief Wait until the phase is over. @throws ws::cancelled  the caller has arrived all the same
  void wait(arrival_token &&arrival) const
  {
    std::unique_lock<mutex> held(lock_);
    over_.wait(held, [&] { return phase_ != arrival.phase_; });
  }
  /// @throws ws::cancelled  as wait()
  void arrive_and_wait()
  {
    std::unique_lock<mutex> held(lock_);
    const arrival_token arrival = arrive_locked(1);
    over_.wait(held, [&] { return phase_ != arrival.phase_; });
  }
  /// @brief Arrive, and leave the barrier: later phases expect one party less.
  void arrive_and_drop()
  {
    const std::lock_guard<mutex> held(lock_);
    parties_--;
    static_cast<void>(arrive_locked(1));
  }

 private:
  arrival_token arrive_locked(std::ptrdiff_t count)
  {
    if (count < 1 || count > missing_)
      detail::misused("ws::barrier::arrive", "more callers than parties have arrived in this phase");
    const arrival_token arrival(phase_);
    missing_ -= count;
    if (missing_ == 0) {
      completion_();
      missing_ = parties_;
      phase_++;
      over_.notify_all();
    }
    return arrival;
  }

  mutable mutex lock_; ///< of the rest
  mutable condition_variable over_; ///< phase_ has changed
  std::ptrdiff_t parties_, missing_;
  std::uint64_t phase_ = 0;
  Completion completion_;
};

} // namespace WS_CXX_MODE
} // namespace ws

#endif
