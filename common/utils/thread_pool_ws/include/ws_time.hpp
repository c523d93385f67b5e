// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_time.hpp
/// Times of std::chrono as the functions of C take them: nanoseconds of CLOCK_MONOTONIC, which is
/// std::chrono::steady_clock. Internal to the C++ headers.
#ifndef WS_TIME_HPP
#define WS_TIME_HPP

#include "ws_macros_off.hpp"

#include <chrono>
#include <cstdint>
#include <type_traits>

#include "ws_macros_on.hpp"

#include "ws_except.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

/// No time limit.
constexpr std::uint64_t NO_DEADLINE = UINT64_MAX;

/// @return whole nanoseconds, rounded up; 0 if the duration is below, NO_DEADLINE if it is too long to count
template <typename Rep, typename Period>
std::uint64_t nanoseconds_of(const std::chrono::duration<Rep, Period> &time) noexcept
{
  using std::chrono::nanoseconds;
  const std::chrono::duration<double> seconds = time; // cannot overflow
  if (!(seconds.count() > 0))
    return 0;
  if (seconds >= std::chrono::duration<double>((nanoseconds::max)()))
    return NO_DEADLINE;
  return static_cast<std::uint64_t>(std::chrono::ceil<nanoseconds>(time).count());
}

/// @return the time that is @p time from now
template <typename Rep, typename Period>
std::uint64_t deadline_after(const std::chrono::duration<Rep, Period> &time) noexcept
{
  const std::uint64_t ns = nanoseconds_of(time);
  const std::uint64_t now_ns = nanoseconds_of(std::chrono::steady_clock::now().time_since_epoch());
  return ns < NO_DEADLINE - now_ns ? now_ns + ns : NO_DEADLINE;
}

/// @brief Call @p wait(deadline), which returns false if the deadline has passed, with the deadline @p time.
/// If the clock is set meanwhile, it is called again. @return false = the time is over
template <typename Clock, typename Duration, typename Wait>
bool wait_until_time(const std::chrono::time_point<Clock, Duration> &time, Wait &&wait)
{
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return wait(nanoseconds_of(time.time_since_epoch()));
  } else {
    using seconds = std::chrono::duration<double>; // cannot overflow
    for (;;) {
      const seconds left = seconds(time.time_since_epoch()) - seconds(Clock::now().time_since_epoch());
      if (wait(deadline_after(left)))
        return true;
      if (Clock::now() >= time)
        return false;
    }
  }
}

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
