// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stop.hpp
/// Requests to stop: std::stop_source, std::stop_token and std::stop_callback from C++20 on, the same for
/// C++17. One source serves all:
/// - submit(f, token), group.run(pool, f, token): what has not begun does not run; if f is a fiber that has
///   begun, its waits end as by ws_cancel_request();
/// - parallel_for(..., token), parallel_reduce(..., token): the rest is skipped;
/// - ws::condition_variable::wait(lock, token, ready), and ws::stop_scope for all waits of the caller;
/// - ws::stop_callback on_stop(token, [&] { key.cancel(); }): a key, and whatever else the program has.
/// The child of a fork must not request a stop for which other threads of the parent have callbacks, as with
/// std::stop_source: these lie where those threads put them. Tasks, fibers and scopes with a token are such.
#ifndef WS_STOP_HPP
#define WS_STOP_HPP

#include "ws_macros_off.hpp"

#include <type_traits>

#include "ws_except.hpp" // IWYU pragma: export

#if __cplusplus >= 202002L && __has_include(<stop_token>)
#include <stop_token>
#endif
#if defined(__cpp_lib_jthread)
#define WS_STD_STOP 1
#else
#define WS_STD_STOP 0
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#endif

#include "ws_macros_on.hpp"

namespace ws {
inline namespace WS_CXX_MODE {

#if WS_STD_STOP
using std::stop_callback;
using std::stop_source;
using std::stop_token;
#else
namespace detail {

/// A callback that waits for a stop. Linked in the state's list.
struct stop_node {
  void (*call)(stop_node *self);
  stop_node *next = nullptr, *before = nullptr;
  bool listed = false; ///< under the state's lock
  bool *gone = nullptr; ///< set while it is called: becomes true if the callback destroys itself
};

/// What a source, its tokens and callbacks share.
class stop_state {
 public:
  bool asked() const noexcept
  {
    return asked_.load(std::memory_order_acquire); // what the caller of request_stop() wrote
  }

  /// @return true for the first request, which calls the callbacks
  bool ask() noexcept
  {
    std::unique_lock<std::mutex> held(lock_);
    if (asked_.exchange(true, std::memory_order_release)) // to asked(). The lock makes it the only one
      return false;
    asker_ = std::this_thread::get_id();
    while (stop_node *node = first_) {
      unlink(node);
      bool gone = false;
      node->gone = &gone;
      called_ = node;
      held.unlock();
      node->call(node);
      held.lock();
      called_ = nullptr;
      if (!gone)
        node->gone = nullptr;
      ended_.notify_all();
    }
    return true;
  }

  /// @return false = a stop was requested before
  bool add(stop_node *node) noexcept
  {
    const std::lock_guard<std::mutex> held(lock_);
    if (asked())
      return false;
    node->next = first_;
    if (first_)
      first_->before = node;
    first_ = node;
    node->listed = true;
    return true;
  }

  /// Afterwards no thread calls the callback, unless it is the caller itself that does.
  void remove(stop_node *node) noexcept
  {
    std::unique_lock<std::mutex> held(lock_);
    if (node->listed)
      unlink(node);
    else if (called_ == node && asker_ == std::this_thread::get_id())
      *node->gone = true;
    else
      ended_.wait(held, [&] { return called_ != node; });
  }

 private:
  void unlink(stop_node *node) noexcept
  {
    (node->before ? node->before->next : first_) = node->next;
    if (node->next)
      node->next->before = node->before;
    node->next = node->before = nullptr;
    node->listed = false;
  }

  std::atomic<bool> asked_{false};
  std::mutex lock_; ///< of the rest
  std::condition_variable ended_; ///< a call of a callback
  stop_node *first_ = nullptr, *called_ = nullptr;
  std::thread::id asker_;
};

} // namespace detail

template <typename Callback>
class stop_callback;

/// Asks whether a stop was requested. A token without a source sees none.
/// @threads   any, several at once, each with its own token
class stop_token {
 public:
  stop_token() = default;
  bool stop_requested() const noexcept { return state_ && state_->asked(); }
  bool stop_possible() const noexcept { return state_ != nullptr; }

 private:
  friend class stop_source;
  template <typename Callback>
  friend class stop_callback;
  explicit stop_token(std::shared_ptr<detail::stop_state> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<detail::stop_state> state_;
};

/// Requests a stop. Copies request the same one.
class stop_source {
 public:
  stop_source() : state_(std::make_shared<detail::stop_state>()) {}
  /// @brief Request the stop, and call the callbacks on this thread.
  /// @return true for the first request
  /// @threads   any, several at once
  bool request_stop() noexcept
  {
    const std::shared_ptr<detail::stop_state> state = state_; // a callback may destroy the source
    return state->ask();
  }
  bool stop_requested() const noexcept { return state_->asked(); }
  stop_token get_token() const noexcept { return stop_token(state_); }

 private:
  std::shared_ptr<detail::stop_state> state_;
};

/// Calls a callable at the stop, on the thread that requests it; at once if it was requested before. The
/// callable must not throw. When the destructor returns, it is not running, unless it runs on this very
/// thread. In a fiber it must not wait nor yield.
template <typename Callback>
class stop_callback : detail::stop_node {
 public:
  template <typename C>
  stop_callback(stop_token token, C &&callback) : callback_(std::forward<C>(callback))
  {
    call = [](detail::stop_node *self) { static_cast<stop_callback *>(self)->run(); };
    if (!token.stop_possible())
      return;
    if (token.state_->add(this))
      state_ = std::move(token.state_);
    else
      run();
  }
  stop_callback(const stop_callback &) = delete;
  stop_callback &operator=(const stop_callback &) = delete;
  ~stop_callback()
  {
    if (state_)
      state_->remove(this);
  }

 private:
  void run() noexcept { std::forward<Callback>(callback_)(); }

  Callback callback_;
  std::shared_ptr<detail::stop_state> state_; ///< null: it is in no list
};
template <typename Callback>
stop_callback(stop_token, Callback) -> stop_callback<Callback>;
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

/// The type that calls @p F at a stop of a token: of the standard, or of the token itself.
template <typename Token, typename F, typename = void>
struct callback_for {
  using type = void;
};
template <typename F>
struct callback_for<stop_token, F> {
  using type = stop_callback<F>;
};
template <typename Token, typename F>
struct callback_for<Token, F, std::void_t<typename Token::template callback_type<F>>> {
  using type = typename Token::template callback_type<F>;
};
template <typename Token, typename F>
using callback_of = typename callback_for<Token, F>::type;
template <typename Token>
constexpr bool has_callback = !std::is_void_v<callback_of<Token, void (*)()>>;

/// In place of a token: no stop. Empty, so that a task without a token has no room for one.
struct never_stops {
  static constexpr bool stop_requested() noexcept { return false; }
};

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
