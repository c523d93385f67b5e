// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_promise.hpp
/// ws::promise, whose future lets fibers park; and ws::future::then().
///
/// @code
///   ws::promise<Reply> promise;                       // fulfilled by a driver's callback
///   ws::future<Reply> reply = promise.get_future();
///   ws::future<void> shown = reply.then(pool, [](Reply reply) { show(reply); });
/// @endcode
#ifndef WS_PROMISE_HPP
#define WS_PROMISE_HPP

#include "ws_macros_off.hpp"

#include <exception>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_pool_owner.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

/// The state of a promise: of no task, so no thread can run anything for it.
struct promise_record final : awaited {
  promise_record() noexcept : awaited({settle_this}) {}

  static void settle_this(record *base, int why) noexcept
  {
    promise_record *self = static_cast<promise_record *>(base);
    if (why != CLAIMED && why != DROPPED && self->leave())
      unmake(self);
  }
  /// The promise's side leaves.
  void fulfil() noexcept
  {
    ws_group_complete(&ended, 1);
    settle_this(this, RUNS);
  }
};

struct future_access {
  template <typename R>
  static awaited *task_of(const future<R> &of) noexcept
  {
    return of.task_;
  }
};

/// A task that is pushed when a future is ready. It has that future.
template <typename Push>
struct deferred_push : continuation {
  deferred_push(ws_pool_t *pool, hint its_hint, const Push &how) noexcept
      : continuation{push, nullptr}, into(pool), with(its_hint), by(how)
  {
  }
  static void push(continuation *base) noexcept
  {
    deferred_push *self = static_cast<deferred_push *>(base);
    const deferred_push due = *self;
    unmake(self);
    push_record(due.into, due.task, due.with, ws_group_tag(due.task), held_push<Push>{due.by});
  }

  awaited *task = nullptr;
  ws_pool_t *into;
  hint with;
  Push by;
};

struct unmaker {
  template <typename Object>
  void operator()(Object *object) const noexcept
  {
    unmake(object);
  }
};

template <typename F, typename R>
struct applied {
  using type = std::invoke_result_t<F, R>;
};
template <typename F>
struct applied<F, void> {
  using type = std::invoke_result_t<F>;
};

} // namespace detail

/// A std::promise whose future is a ws::future: in a fiber its waits park, and it has then(). A thread or a
/// plain task that waits for it sleeps. While a worker sleeps, another may run in its place. future.cancel()
/// does nothing.
/// @threads   one at a time
template <typename R>
class promise {
 public:
  /// @throws std::bad_alloc
  promise() : plain_(std::allocator_arg, detail::block_allocator<char>()), state_(detail::make<state>()) {}
  promise(promise &&other) noexcept
      : plain_(std::move(other.plain_)), state_(std::exchange(other.state_, nullptr)), taken_(other.taken_),
        done_(other.done_)
  {
  }
  promise &operator=(promise &&other) noexcept
  {
    if (this != &other) {
      this->~promise();
      ::new (this) promise(std::move(other));
    }
    return *this;
  }
  /// Without a result: the future gets std::future_error (broken_promise). Without exceptions in the build,
  /// the process ends with a message if there is a future.
  ~promise()
  {
    if (!state_)
      return;
    if (!done_)
      abandon();
    if (!taken_)
      state_->settle(state_, detail::LEFT); // in the future's place
  }

  /// @brief To be called once.
  future<R> get_future()
  {
    if (!state_ || std::exchange(taken_, true))
      detail::misused("ws::promise::get_future", "called twice, or the promise was moved from");
    return future<R>(plain_.get_future(), done_ ? std::exchange(state_, nullptr) : state_);
  }

  /// @brief Give the result, once. An exception of its copy goes to the future instead. Continuations, such
  /// as the push of then(), are called on this thread, inside the call unless many continuations run inside
  /// one another: ws_step_run() in ws_record.h. A second result ends the process with a message.
  template <typename... Value>
  void set_value(Value &&...value)
  {
    check("ws::promise::set_value");
    detail::outcome<R> result; // of its own: in std::promise's lock an exception ends badly on some systems
    result.of([&]() -> R {
      if constexpr (!std::is_void_v<R> || sizeof...(Value) > 0)
        return (std::forward<Value>(value), ...);
    });
    fulfil([&](std::promise<R> &plain) {
      detail::fulfilment<R, std::promise<R> *>{&plain, std::move(result)}();
    });
  }
#if WS_EXCEPTIONS
  void set_exception(std::exception_ptr error)
  {
    check("ws::promise::set_exception");
    fulfil([&](std::promise<R> &plain) { plain.set_exception(std::move(error)); });
  }
#endif

 private:
  using state = detail::promise_record;

  void check(const char *call) const
  {
    if (!state_ || done_)
      detail::misused(call, "the promise has its result, or was moved from");
  }
  /// If there is a future, the thread that has it may destroy this promise as soon as the future is ready.
  template <typename Set>
  void fulfil(Set &&set) noexcept
  {
    state *own = state_;
    done_ = true;
    if (!taken_) {
      set(plain_);
    } else {
      state_ = nullptr;
      std::promise<R> plain = std::move(plain_);
      set(plain);
    }
    own->fulfil();
  }
  void abandon() noexcept
  {
#if WS_EXCEPTIONS
    set_exception(std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
#else
    if (taken_)
      detail::misused("ws::promise::~promise", "there is no result for its future");
    fulfil([](std::promise<R> &) {});
#endif
  }

  std::promise<R> plain_;
  state *state_; ///< null = the future alone has it
  bool taken_ = false; ///< there is a future
  bool done_ = false; ///< the result was set
};

template <typename R>
template <typename F>
auto future<R>::then(pool &pool, F &&f, hint with)
{
  using Result = typename detail::applied<std::decay_t<F>, R>::type;
  if (!this->valid())
    detail::misused("ws::future::then", "the future has no state");
  detail::awaited *const before = task_;
  auto call = [source = std::move(*this), f = std::decay_t<F>(std::forward<F>(f))]() mutable -> Result {
    if constexpr (std::is_void_v<R>) {
      source.get();
      return std::move(f)();
    } else {
      return std::move(f)(source.get());
    }
  };
  const auto push = detail::push_of(call);
  using Due = detail::deferred_push<std::decay_t<decltype(push)>>;
  std::unique_ptr<Due, detail::unmaker> made(detail::make<Due>(pool.native(), with, push));
  future<Result> result =
      detail::prepare<Result>(pool.native(), std::move(call), detail::never_stops(), &made->task);
  Due *const due = made.release(); // nothing throws from here on
  if (!before || !before->attach(due))
    due->call(due);
  return result;
}

} // namespace WS_CXX_MODE
} // namespace ws

#endif
