// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_context.hpp
/// ws::context: a callable that takes one runs as a fiber (ws_fiber.h), and may let others run meanwhile.
///
/// @code
///   ws::group group;
///   group.run(pool, [](ws::context &context) {
///     while (!ready())
///       context.yield();
///   });
/// @endcode
///
/// Every function of these headers that takes a callable without arguments as a task takes such a callable,
/// too. A callable that can be called both ways is a plain task: the result of std::bind(), which ignores
/// surplus arguments, and [](auto &&...) {}.
/// A program that uses a fiber links thread_pool_ws_fiber. In a fiber these waits let the worker run other
/// tasks: group.wait(), get() and wait() of a ws::future, pool.get() of one, and those of ws_sync.h. Other
/// waits, also for a plain std::future, block the worker, and another worker may run in its place.
/// ws::fiber(f), and ws::fiber(options, f), make a fiber of any callable. Otherwise the fiber's stack is
/// WS_FIBER_STACK_BYTES. ws_fiber.hpp has ws::this_fiber and variables of a fiber. The rules of ws_fiber.h
/// for thread-local data, errno and exceptions apply.
#ifndef WS_CONTEXT_HPP
#define WS_CONTEXT_HPP

#include "ws_macros_off.hpp"

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_except.hpp" // IWYU pragma: export
#include "ws_fd.h" // IWYU pragma: export
#include "ws_fiber.h" // IWYU pragma: export
#include "ws_stop_scope.hpp" // IWYU pragma: export
#include "ws_sync.h" // IWYU pragma: export
#include "ws_time.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

namespace detail {
template <typename F>
struct fiber_call;
}

/// What a fiber may ask of its worker. Valid in the fiber only, which must not give it to other tasks.
class context {
 public:
  context(const context &) = delete;
  context &operator=(const context &) = delete;

  /// @brief Let other tasks run: ws_yield().
  void yield() noexcept { ws_yield(); }

  /// @brief Let other tasks run for a time: ws_sleep_ns().
  /// @param time  0 or less: returns at once. More than nanoseconds can count: until a cancel
  /// @return true; false: the pool was aborted, or the fiber's cancel token requested
  template <typename Rep, typename Period>
  bool sleep_for(std::chrono::duration<Rep, Period> time) noexcept
  {
    const std::uint64_t ns = detail::nanoseconds_of(time);
    return ns == 0 || ws_sleep_ns(ns) == 0;
  }

  using clock = std::chrono::steady_clock; ///< CLOCK_MONOTONIC

  /// @brief Let other tasks run until a descriptor is ready: ws_fd_wait_until().
  /// @return events that are ready, or a negative error number, as there
  int wait_fd(int fd, std::uint32_t events, clock::time_point until = (clock::time_point::max)()) noexcept
  {
    return ws_fd_wait_until(fd, events, detail::nanoseconds_of(until.time_since_epoch()));
  }

 private:
  template <typename F>
  friend struct detail::fiber_call;
  context() = default;
};

/// Options of a fiber: ws_fiber_options_t. Its priority, node and stop token are given to submit() and run().
struct fiber_options {
  const char *name = nullptr; ///< copied by the push; nullptr = "fiber"
  std::uint32_t stack_bytes = WS_FIBER_STACK_BYTES;
};

namespace detail {

/// What ws::fiber() returns: a callable that can be called with a context only.
template <typename F>
struct fiber_of {
  fiber_options options;
  F f;
  decltype(auto) operator()(context &own) &&
  {
    if constexpr (std::is_invocable_v<F, context &>)
      return std::move(f)(own);
    else
      return std::move(f)();
  }
};

} // namespace detail

/// @brief Have a callable, with or without a ws::context, run as a fiber.
/// @code
///   pool.submit(ws::fiber({"decoder", 1 << 20}, [&] { return decode(); }));
/// @endcode
template <typename F>
detail::fiber_of<std::decay_t<F>> fiber(const fiber_options &options, F &&f)
{
  return {options, std::forward<F>(f)};
}
template <typename F>
detail::fiber_of<std::decay_t<F>> fiber(F &&f)
{
  return {fiber_options(), std::forward<F>(f)};
}

namespace detail {

/// ws_fiber_name(); NULL in a program that is not linked with the library of fibers.
[[maybe_unused]] static const char *fiber_name_if_linked() __attribute__((weakref("ws_fiber_name")));

/// @return whether a fiber calls
inline bool is_in_fiber() noexcept
{
  return fiber_name_if_linked && fiber_name_if_linked();
}

template <typename F>
constexpr bool is_fiber_of = false;
template <typename F>
constexpr bool is_fiber_of<fiber_of<F>> = true;

/// A generic callable that needs no argument is not asked for its result with a context: its body may not
/// compile with one.
template <typename F>
constexpr bool is_fiber =
    std::conjunction_v<std::negation<std::is_invocable<F>>, std::is_invocable<F, context &>>;

/// A callable that takes a context, as one without arguments.
template <typename F>
struct fiber_call {
  F f;
  decltype(auto) operator()() &&
  {
    context own;
    return std::move(f)(own);
  }
};

/// Of a callable as the records hold it.
template <typename Held>
constexpr bool is_held_fiber = false;
template <typename F>
constexpr bool is_held_fiber<fiber_call<F>> = true;

/// A callable as the records hold it.
template <typename F>
using held = std::conditional_t<is_fiber<std::decay_t<F>>, fiber_call<std::decay_t<F>>, std::decay_t<F>>;

template <typename F>
held<F> hold(F &&f)
{
  if constexpr (is_fiber<std::decay_t<F>>)
    return held<F>{std::decay_t<F>(std::forward<F>(f))};
  else
    return std::forward<F>(f);
}

/// As ws_pool_push(). A tag stays a tag; a group is completed by the fiber's end.
inline int push_fiber(ws_pool_t *pool, ws_task_t task, const fiber_options &with)
{
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  options.name = with.name;
  options.stack_bytes = with.stack_bytes;
  options.priority = task.priority;
  options.node = task.node;
  const bool is_tag = (reinterpret_cast<std::uintptr_t>(task.group) & 1) != 0;
  options.tag = is_tag ? task.group : nullptr;
  return ws_fiber_push(pool, task.func, task.arg, is_tag ? nullptr : task.group, &options);
}

using push_t = int (*)(ws_pool_t *pool, ws_task_t task);

struct push_as_fiber {
  fiber_options options;
  int operator()(ws_pool_t *pool, ws_task_t task) const { return push_fiber(pool, task, options); }
};

/// @return how @p f is pushed. @p f may have been moved from
template <typename F>
auto push_of(const F &f, push_t plain = ws_pool_push) noexcept
{
  static_cast<void>(f);
  if constexpr (is_fiber_of<F>)
    return push_as_fiber{f.options};
  else if constexpr (is_fiber<F>)
    return push_as_fiber{};
  else
    return plain;
}

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
