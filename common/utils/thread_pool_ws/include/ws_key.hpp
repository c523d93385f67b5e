// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_key.hpp
/// ws::key: cancel all tasks that carry it, and learn how many that were.
///
/// @code
///   ws::key slot;
///   ws::group group;
///   for (Segment &segment : segments)
///     group.run(pool, [&segment] { decode(segment); }, slot);
///   if (!group.wait_until(deadline))
///     lost += slot.cancel();   // those have not begun, and will not; group.wait() waits for the others
/// @endcode
#ifndef WS_KEY_HPP
#define WS_KEY_HPP

#include "ws_macros_off.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_except.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

namespace detail {
class keyed;
}

/// Must live until no task that carries it is queued, and no call of it is under way.
class key {
 public:
  key() noexcept = default;
  key(const key &) = delete;
  key &operator=(const key &) = delete;

  /// @brief Cancel the tasks that carry the key and have not begun: they do not run, and their futures and
  /// groups get ws::cancelled. Tasks that are submitted later may use the key again.
  /// @return the number of tasks that this call has cancelled. A submit at the same moment that its pool then
  ///         refuses may count, too
  /// Without exceptions in the build, a future of such a task ends the process with a message.
  /// @threads   any, several at once
  /// @progress  lock-free
  std::uint32_t cancel() noexcept
  {
    std::uint64_t seen = live_.load(std::memory_order_relaxed); // relaxed: the exchange orders
    while (!live_.compare_exchange_weak(seen, (epoch_of(seen) + 1) << 32, std::memory_order_acq_rel))
      ;
    return static_cast<std::uint32_t>(seen);
  }

 private:
  friend class detail::keyed;

  static constexpr std::uint64_t epoch_of(std::uint64_t live) noexcept { return live >> 32; }

  /// @return false = a cancel has come first
  bool leave(std::uint64_t epoch) noexcept
  {
    std::uint64_t seen = live_.load(std::memory_order_acquire); // what the canceller wrote
    while (epoch_of(seen) == epoch)
      if (live_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        return true;
    return false;
  }

  std::atomic<std::uint64_t> live_{0}; ///< number of cancels << 32 | tasks that have not begun
};

namespace detail {

/// In place of a stop token: counts its task in the key until the task begins or is dropped.
class keyed {
 public:
  explicit keyed(key &of) noexcept
      // acq_rel: with the cancels before and after
      : key_(&of), epoch_(key::epoch_of(of.live_.fetch_add(1, std::memory_order_acq_rel)))
  {
  }
  keyed(keyed &&other) noexcept : key_(std::exchange(other.key_, nullptr)), epoch_(other.epoch_) {}
  keyed &operator=(keyed &&) = delete;
  ~keyed()
  {
    if (key_)
      key_->leave(epoch_);
  }

  /// The task begins: called once. The key may be gone afterwards.
  bool stop_requested() noexcept { return !std::exchange(key_, nullptr)->leave(epoch_); }

 private:
  key *key_;
  std::uint64_t epoch_;
};

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
