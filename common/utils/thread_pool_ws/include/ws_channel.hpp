// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_channel.hpp
/// ws::channel: a queue with a limit that can be closed, for fibers, tasks and threads. Link the library
/// thread_pool_ws_fiber.
///
/// @code
///   ws::channel<Frame> frames(16);
///   group.run(pool, [&](ws::context &) {
///     while (std::optional<Frame> frame = read_frame())
///       frames.send(std::move(*frame));        // 16 are queued: waits, the worker runs other tasks
///     frames.close();
///   });
///   group.run(pool, [&](ws::context &) {
///     while (std::optional<Frame> frame = frames.receive()) // nothing: closed, and all were received
///       decode(*frame);
///   });
/// @endcode
///
/// Values come out in the order in which they went in. The rules of ws_sync.h for tasks that wait apply: wait
/// in fibers, or have more workers than tasks that wait.
#ifndef WS_CHANNEL_HPP
#define WS_CHANNEL_HPP

#include "ws_macros_off.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "ws_macros_on.hpp"

#include "ws_sync.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

/// How a call on a channel has ended.
enum class channel_status {
  done, ///< the value was sent or received
  full, ///< of try_send(): there is no place
  empty, ///< of try_receive(): there is no value
  timeout, ///< the time was over before
  closed, ///< of send(): the channel is closed; of receive(): and there is no value left
  cancelled, ///< the caller's wait was cancelled: ws_sync.hpp
};

/// A queue of at most places() values. Must live until no call is under way. Values that are left are
/// destroyed with it.
/// If a call does not end with `done`, its argument is unchanged. An exception that moving or copying a value
/// throws passes through, and the channel stays as it was.
/// @threads   any, several at once
/// @ordering  what was written before a send is visible after the receive of that value; what was written
///            before close() after a call that returns `closed`
/// @progress  takes a lock, without a system call unless it must wait or wake
template <typename T>
class channel {
  static_assert(std::is_object_v<T> && std::is_move_constructible_v<T> && std::is_move_assignable_v<T>,
                "ws: the values of a channel must be movable");

 public:
  /// @param places  at least 1. With 0 the process ends with a message
  /// @throws std::bad_alloc
  explicit channel(std::size_t places) : places_(places), memory_(allocate(places)) {}
  channel(const channel &) = delete;
  channel &operator=(const channel &) = delete;
  ~channel()
  {
    for (; queued_ > 0; pop())
      ;
    std::allocator<T>().deallocate(memory_, places_);
  }

  /// @brief Wait for a place, and put a value there. @return done, closed or cancelled
  channel_status send(T &&value) { return send_to(std::move(value), WS_SYNC_NO_DEADLINE); }
  channel_status send(const T &value) { return send_to(value, WS_SYNC_NO_DEADLINE); }
  /// In a fiber a try_ that fails may yield: ws_yield_sometimes(). @return done, full or closed
  channel_status try_send(T &&value) { return tried(send_to(std::move(value), 0), channel_status::full); }
  channel_status try_send(const T &value) { return tried(send_to(value, 0), channel_status::full); }
  /// @return as send(), or timeout
  template <typename Value, typename Rep, typename Period>
  channel_status send_for(Value &&value, const std::chrono::duration<Rep, Period> &time)
  {
    return send_to(std::forward<Value>(value), detail::deadline_after(time));
  }
  template <typename Value, typename Clock, typename Duration>
  channel_status send_until(Value &&value, const std::chrono::time_point<Clock, Duration> &time)
  {
    return until(time, [&](std::uint64_t ns) { return send_to(std::forward<Value>(value), ns); });
  }

  /// @brief Wait for a value. @return nothing: the channel is closed and empty, or the wait was cancelled
  std::optional<T> receive()
  {
    std::optional<T> into;
    receive_to(into, WS_SYNC_NO_DEADLINE);
    return into;
  }
  /// @brief The same, and name the cause. @return done, closed or cancelled
  channel_status receive(T &into) { return receive_to(into, WS_SYNC_NO_DEADLINE); }
  /// @return done, empty or closed
  channel_status try_receive(T &into) { return tried(receive_to(into, 0), channel_status::empty); }
  /// @return as receive(), or timeout
  template <typename Rep, typename Period>
  channel_status receive_for(T &into, const std::chrono::duration<Rep, Period> &time)
  {
    return receive_to(into, detail::deadline_after(time));
  }
  template <typename Clock, typename Duration>
  channel_status receive_until(T &into, const std::chrono::time_point<Clock, Duration> &time)
  {
    return until(time, [&](std::uint64_t ns) { return receive_to(into, ns); });
  }

  /// @brief Refuse further values, and end the waits to send. Values that are queued can still be received.
  /// Further calls change nothing.
  void close() noexcept
  {
    const std::lock_guard<mutex> held(lock_);
    closed_ = true;
    senders_.wake_all();
    receivers_.wake_all();
  }
  bool is_closed() const noexcept
  {
    const std::lock_guard<mutex> held(lock_);
    return closed_;
  }
  /// @return number of values that are queued at that moment
  std::size_t size() const noexcept
  {
    const std::lock_guard<mutex> held(lock_);
    return queued_;
  }
  std::size_t places() const noexcept { return places_; }

 private:
  /// Callers that wait for the same. Under the channel's lock.
  struct side {
    ws_cond_t changed = WS_COND_INIT;
    std::uint32_t waits = 0;

    void wake_one() noexcept
    {
      if (waits > 0)
        ws_cond_signal(&changed);
    }
    void wake_all() noexcept
    {
      if (waits > 0)
        ws_cond_broadcast(&changed);
    }
    int wait(mutex &lock, std::uint64_t deadline_ns) noexcept
    {
      waits++;
      const int result = ws_cond_wait_until(&changed, lock.native(), deadline_ns);
      waits--;
      return result;
    }
  };

  /// Wakes the next wait of the own side unless the caller has got what it was woken for: the copy of a value
  /// may throw.
  struct passed_on {
    side *next;
    ~passed_on()
    {
      if (next)
        next->wake_one();
    }
  };

  static T *allocate(std::size_t places)
  {
    if (places == 0)
      detail::misused("ws::channel::channel", "0 places: at least 1 is needed");
    return std::allocator<T>().allocate(places);
  }
  static channel_status tried(channel_status status, channel_status instead) noexcept
  {
    if (status != channel_status::timeout)
      return status;
    ws_yield_sometimes();
    return instead;
  }
  template <typename Time, typename Call>
  static channel_status until(const Time &time, Call &&call)
  {
    channel_status status = channel_status::timeout;
    detail::wait_until_time(time, [&](std::uint64_t deadline_ns) {
      status = call(deadline_ns);
      return status != channel_status::timeout;
    });
    return status;
  }

  /// Wait until @p is_due. @return done; or why it is not due
  template <typename Due>
  channel_status await(side &own, Due &&is_due, std::uint64_t deadline_ns)
  {
    int result = 0;
    while (!is_due()) {
      if (closed_)
        return channel_status::closed;
      if (result == -ETIMEDOUT || deadline_ns == 0)
        return channel_status::timeout;
      if (result == -ECANCELED)
        return channel_status::cancelled;
      result = own.wait(lock_, deadline_ns);
    }
    return channel_status::done;
  }

  template <typename Value>
  channel_status send_to(Value &&value, std::uint64_t deadline_ns)
  {
    const std::lock_guard<mutex> held(lock_);
    const auto has_place = [this] { return closed_ || queued_ < places_; };
    const channel_status status = await(senders_, has_place, deadline_ns);
    if (status != channel_status::done)
      return status;
    if (closed_)
      return channel_status::closed;
    passed_on rest{&senders_};
    const std::size_t index = first_ < places_ - queued_ ? first_ + queued_ : first_ - (places_ - queued_);
    ::new (static_cast<void *>(memory_ + index)) T(std::forward<Value>(value));
    rest.next = nullptr;
    queued_++;
    receivers_.wake_one();
    return status;
  }

  template <typename Into>
  channel_status receive_to(Into &into, std::uint64_t deadline_ns)
  {
    const std::lock_guard<mutex> held(lock_);
    const channel_status status = await(
        receivers_, [this] { return queued_ > 0; }, deadline_ns);
    if (status != channel_status::done)
      return status;
    passed_on rest{&receivers_};
    into = std::move(memory_[first_]);
    rest.next = nullptr;
    pop();
    senders_.wake_one();
    return status;
  }

  void pop() noexcept
  {
    memory_[first_].~T();
    first_ = first_ + 1 == places_ ? 0 : first_ + 1;
    queued_--;
  }

  const std::size_t places_;
  T *const memory_; ///< of places_ values: queued_ of them from first_ on are there
  mutable mutex lock_; ///< of the rest
  std::size_t first_ = 0, queued_ = 0;
  bool closed_ = false;
  side senders_, receivers_;
};

} // namespace WS_CXX_MODE
} // namespace ws

#endif
