// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber.hpp
/// ws::this_fiber, as std::this_thread, and ws::fiber_local, as thread_local. Link thread_pool_ws_fiber.
#ifndef WS_FIBER_HPP
#define WS_FIBER_HPP

#include "ws_macros_off.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "ws_macros_on.hpp"

#include "ws_context.hpp" // IWYU pragma: export
#include "ws_local.h" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

/// Names a fiber, or a thread outside fibers, as long as it lasts. std::this_thread::get_id() in a fiber
/// names the thread that the compiler last asked for, not always the present one (ws_fiber.h, pthread_self).
class fiber_id {
 public:
  constexpr fiber_id() noexcept = default; ///< of none
  friend bool operator==(fiber_id left, fiber_id right) noexcept { return left.of_ == right.of_; }
  friend bool operator!=(fiber_id left, fiber_id right) noexcept { return left.of_ != right.of_; }
  friend bool operator<(fiber_id left, fiber_id right) noexcept
  {
    return std::less<const void *>()(left.of_, right.of_);
  }
  /// An address: for hashes and messages.
  const void *address() const noexcept { return of_; }

  explicit constexpr fiber_id(const void *of) noexcept : of_(of) {}

 private:
  const void *of_ = nullptr;
};

namespace this_fiber {

inline fiber_id get_id() noexcept
{
  return fiber_id(ws_caller_id());
}
/// @return false outside fibers, and in a task that runs on a fiber's stack
inline bool is_fiber() noexcept
{
  return ws_fiber_self() != nullptr;
}
/// @brief Let others run: ws_yield(), outside fibers std::this_thread::yield().
inline void yield() noexcept
{
  if (!ws_yield())
    std::this_thread::yield();
}
/// @return true; false: the wait was cancelled (ws_sync.hpp) before the time was over
template <typename Rep, typename Period>
bool sleep_for(const std::chrono::duration<Rep, Period> &time) noexcept
{
  return ws_sleep_until(detail::deadline_after(time)) == 0;
}
template <typename Clock, typename Duration>
bool sleep_until(const std::chrono::time_point<Clock, Duration> &time)
{
  bool slept = true;
  detail::wait_until_time(time, [&slept](std::uint64_t at_ns) {
    slept = ws_sleep_until(at_ns) == 0;
    return !slept; // looks at the clock again
  });
  return slept;
}

} // namespace this_fiber

/// A variable of which each fiber has its own T; outside fibers, and in plain tasks, each thread. A T is made
/// by T() at the first use, and destroyed at the end of its fiber or thread. The variable must outlive those.
template <typename T>
class fiber_local {
 public:
  fiber_local() noexcept = default;
  fiber_local(const fiber_local &) = delete;
  fiber_local &operator=(const fiber_local &) = delete;

  /// @throws std::bad_alloc, or what T() throws
  T &get()
  {
    if (void *value = ws_local_get(&local_))
      return *static_cast<T *>(value);
    std::unique_ptr<T> made(new T());
    if (ws_local_set(&local_, made.get()) < 0)
      detail::fail(ENOMEM, "ws::fiber_local");
    return *made.release();
  }
  T &operator*() { return get(); }
  T *operator->() { return &get(); }
  /// @return whether the caller has a T
  bool has_value() const noexcept { return ws_local_get(&local_) != nullptr; }

 private:
  static void end(void *value) { delete static_cast<T *>(value); }

  const ws_local_t local_ = {end};
};

} // namespace WS_CXX_MODE
} // namespace ws

/// @cond  Doxygen takes it for a class of this file
template <>
struct std::hash<ws::fiber_id> {
  std::size_t operator()(ws::fiber_id id) const noexcept { return std::hash<const void *>()(id.address()); }
};
/// @endcond

#endif
