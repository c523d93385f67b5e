// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stop.hpp
/// Requests to stop: std::stop_source and std::stop_token from C++20 on, the part of them that the pool needs
/// in C++17.
#ifndef WS_STOP_HPP
#define WS_STOP_HPP

#include <type_traits>

#include "ws_except.hpp"

#if __cplusplus >= 202002L && __has_include(<stop_token>)
#include <stop_token>
#endif
#if defined(__cpp_lib_jthread)
#define WS_STD_STOP 1
#else
#define WS_STD_STOP 0
#include <atomic>
#include <memory>
#endif

namespace ws {
inline namespace WS_CXX_MODE {

#if WS_STD_STOP
using std::stop_source;
using std::stop_token;
#else
/// Asks whether a stop was requested. A token without a source never sees one.
/// @threads   any, several at once, each with its own token
class stop_token {
 public:
  stop_token() = default;
  bool stop_requested() const noexcept
  {
    // acquire: what the caller of request_stop() wrote
    return asked_ && asked_->load(std::memory_order_acquire);
  }
  bool stop_possible() const noexcept { return asked_ != nullptr; }

 private:
  friend class stop_source;
  explicit stop_token(std::shared_ptr<const std::atomic<bool>> asked) noexcept : asked_(std::move(asked)) {}

  std::shared_ptr<const std::atomic<bool>> asked_;
};

/// Requests a stop. Copies request the same one.
class stop_source {
 public:
  stop_source() : asked_(std::make_shared<std::atomic<bool>>(false)) {}
  /// @return true for the first request
  /// @threads   any, several at once
  bool request_stop() noexcept
  {
    return !asked_->exchange(true, std::memory_order_acq_rel); // release: to stop_requested()
  }
  bool stop_requested() const noexcept { return asked_->load(std::memory_order_acquire); }
  stop_token get_token() const noexcept { return stop_token(asked_); }

 private:
  std::shared_ptr<std::atomic<bool>> asked_;
};
#endif

namespace detail {

/// @return whether @p T is a stop token: of C++17 or of C++20, or one of the program's own. The types of the
/// headers must not depend on the standard, so functions take any of them
template <typename T, typename = void>
constexpr bool is_token = false;
template <typename T>
constexpr bool is_token<T, std::void_t<decltype(std::declval<const T &>().stop_possible()),
                                       decltype(std::declval<const T &>().stop_requested())>> = true;
template <typename T>
using if_token = std::enable_if_t<is_token<T>>;

/// In place of a token: no stop. Empty, so that a task without a token has no room for one.
struct never_stops {
  static constexpr bool stop_requested() noexcept { return false; }
};

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
