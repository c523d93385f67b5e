// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_task.hpp
/// ws::task, a callable without its type: to keep tasks in a container before they are pushed.
#ifndef WS_TASK_HPP
#define WS_TASK_HPP

#include "ws_macros_off.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_block.hpp" // IWYU pragma: export
#include "ws_context.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

namespace detail {

/// Requires of a callable what push, submit and run require.
template <typename F>
constexpr bool check_callable() noexcept
{
  static_assert(std::disjunction_v<std::is_invocable<F>, std::is_invocable<F, context &>>,
                "ws: a task must be callable without arguments, or with a ws::context &, once, as an rvalue");
  static_assert(std::is_move_constructible_v<F>, "ws: a task must be movable");
  return true;
}

} // namespace detail

/// Holds a callable without arguments, of any type that can be moved; ignores what it returns. Callables of
/// up to 48 bytes, aligned as a pointer or less and moved without exceptions, lie inside; others in a block
/// of their own, which comes from malloc only if the thread has no free one, or above 248 bytes.
/// @threads   one at a time
class task {
 public:
  /// Bytes of a callable that need no block.
  static constexpr std::size_t inside_max = 48;

  task() noexcept = default;
  template <typename F, typename Body = std::decay_t<F>,
            typename = std::enable_if_t<!std::is_same_v<Body, task>>>
  task(F &&callable) // not explicit: as std::function's
  {
    static_assert(detail::check_callable<Body>());
    static_assert(!detail::is_fiber<Body>, "ws: a ws::task holds a callable without arguments, no fiber");
    if constexpr (is_inside<Body>)
      ::new (static_cast<void *>(buffer_)) Body(std::forward<F>(callable));
    else
      ::new (static_cast<void *>(buffer_)) void *(detail::make<Body>(std::forward<F>(callable)));
    verbs_ = &verbs_of<Body>;
  }
  task(task &&other) noexcept : verbs_(std::exchange(other.verbs_, nullptr))
  {
    if (verbs_)
      verbs_->move(other, *this);
  }
  task &operator=(task &&other) noexcept
  {
    if (this != &other) {
      this->~task();
      ::new (this) task(std::move(other));
    }
    return *this;
  }
  ~task()
  {
    if (verbs_)
      verbs_->destroy(*this);
  }

  /// @return whether it holds a callable
  explicit operator bool() const noexcept { return verbs_ != nullptr; }

  /// @brief Call the callable, once: it is destroyed afterwards. Exceptions pass through. Without a callable:
  /// ends the process with a message.
  void operator()()
  {
    if (!verbs_)
      detail::misused("ws::task::operator()", "called without a callable; a task can be called once");
    task last(std::move(*this));
    last.verbs_->call(last);
  }

 private:
  struct verbs {
    void (*call)(task &self);
    void (*move)(task &from, task &to); ///< from holds none afterwards
    void (*destroy)(task &self);
  };

  template <typename Body>
  static constexpr bool
      is_inside = sizeof(Body)
                  <= inside_max &&detail::fits_block<Body> &&std::is_nothrow_move_constructible_v<Body>;

  void *block() const noexcept { return *static_cast<void *const *>(static_cast<const void *>(buffer_)); }
  template <typename Body>
  Body &body() noexcept
  {
    if constexpr (is_inside<Body>)
      return *std::launder(static_cast<Body *>(static_cast<void *>(buffer_)));
    else
      return *static_cast<Body *>(block());
  }
  template <typename Body>
  static void call(task &self)
  {
    static_cast<void>(std::move(self.body<Body>())());
  }
  template <typename Body>
  static void move(task &from, task &to)
  {
    if constexpr (is_inside<Body>) {
      ::new (static_cast<void *>(to.buffer_)) Body(std::move(from.body<Body>()));
      from.body<Body>().~Body();
    } else {
      ::new (static_cast<void *>(to.buffer_)) void *(from.block());
    }
  }
  template <typename Body>
  static void destroy(task &self)
  {
    if constexpr (is_inside<Body>)
      self.body<Body>().~Body();
    else
      detail::unmake(&self.body<Body>());
  }
  template <typename Body>
  [[gnu::visibility("hidden")]] static constexpr verbs verbs_of = {call<Body>, move<Body>, destroy<Body>};

  const verbs *verbs_ = nullptr;
  alignas(void *) unsigned char buffer_[inside_max];
};

} // namespace WS_CXX_MODE
} // namespace ws

#endif
