// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stop_scope.hpp
/// From a stop token to the waits of a fiber or thread. A program that uses it links thread_pool_ws_fiber.
#ifndef WS_STOP_SCOPE_HPP
#define WS_STOP_SCOPE_HPP

#include "ws_macros_off.hpp"

#include <type_traits>

#include "ws_macros_on.hpp"

#include "ws_stop.hpp" // IWYU pragma: export
#include "ws_sync.h" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

struct cancel_request {
  ws_cancel_t *cancel;
  void operator()() const noexcept { ws_cancel_request(cancel); }
};

} // namespace detail

/// While it lives a stop of the token ends the waits of the calling fiber, or of the calling thread outside
/// fibers, as ws_cancel_request() does. It takes the place of the caller's cancel token. It must be destroyed
/// by that fiber or thread.
/// @tparam Token  std::stop_token; ws::stop_token; or one with a template callback_type, as C++26 has
template <typename Token>
class stop_scope {
  static_assert(detail::has_callback<Token>, "ws: a stop can end waits only if its token has callbacks");

 public:
  explicit stop_scope(const Token &token) : callback_(token, detail::cancel_request{&own_}) {}
  stop_scope(const stop_scope &) = delete;
  stop_scope &operator=(const stop_scope &) = delete;
  ~stop_scope() { ws_cancel_use(before_); }

 private:
  ws_cancel_t own_ = WS_CANCEL_INIT;
  ws_cancel_t *const before_ = ws_cancel_use(&own_);
  detail::callback_of<Token, detail::cancel_request> callback_; // last: its end comes before that of own_
};

namespace detail {

/// Around the call of a fiber: its token, if it has callbacks, ends its waits. Empty for other callables.
template <bool is_fiber, typename Token, typename = void>
struct waits_of_call {
  explicit waits_of_call(const Token &) noexcept {}
};
template <typename Token>
struct waits_of_call<true, Token, std::enable_if_t<has_callback<Token>>> {
  explicit waits_of_call(const Token &token) : scope(token) {}
  stop_scope<Token> scope;
};

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
