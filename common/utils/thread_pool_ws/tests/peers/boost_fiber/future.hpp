// SPDX-License-Identifier: BSD-3-Clause
/// @file future.hpp
/// Promises, futures, packaged_task and async of Boost.Fiber on ws::promise and ws::future.
#ifndef WS_PEERS_BOOST_FIBER_FUTURE_HPP
#define WS_PEERS_BOOST_FIBER_FUTURE_HPP

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "ws_promise.hpp"
#include "ws_sync.hpp"

#include "error.hpp"
#include "fiber.hpp"

namespace boost {
namespace fibers {

using std::future_status;

/// A ws::future whose result is kept, for any number of callers.
template <typename R>
class kept_future {
  using value_type =
      std::conditional_t<std::is_void_v<R>, std::monostate,
                         std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R> *, R>>;

 public:
  explicit kept_future(ws::future<R> &&from) : from_(std::move(from)) {}

  void wait()
  {
    const std::lock_guard<ws::mutex> held(lock_);
    keep();
  }
  template <typename Time>
  future_status wait_until(const Time &time)
  {
    const std::unique_lock<ws::mutex> held(lock_, time);
    return held && (is_kept() || from_.wait_until(time) == future_status::ready) ? future_status::ready
                                                                                 : future_status::timeout;
  }
  std::exception_ptr error()
  {
    wait();
    return error_;
  }
  value_type &value()
  {
    wait();
    if (error_)
      std::rethrow_exception(error_);
    return *value_;
  }

 private:
  bool is_kept() const { return error_ || value_; }
  void keep()
  {
    if (is_kept())
      return;
    try {
      if constexpr (std::is_void_v<R>)
        value_ = (from_.get(), std::monostate());
      else if constexpr (std::is_reference_v<R>)
        value_ = &from_.get();
      else
        value_.emplace(from_.get());
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  ws::mutex lock_; ///< of the rest
  ws::future<R> from_;
  std::exception_ptr error_;
  std::optional<value_type> value_;
};

/// What future and shared_future have in common.
template <typename R>
class any_future {
 public:
  bool valid() const noexcept { return kept_ != nullptr; }
  void wait() const { kept().wait(); }
  template <typename Time>
  future_status wait_for(const Time &time) const
  {
    return kept().wait_until(std::chrono::steady_clock::now() + time);
  }
  template <typename Time>
  future_status wait_until(const Time &time) const
  {
    return kept().wait_until(time);
  }
  std::exception_ptr get_exception_ptr() const { return kept().error(); }

 protected:
  any_future() noexcept = default;
  explicit any_future(std::shared_ptr<kept_future<R>> kept) noexcept : kept_(std::move(kept)) {}
  kept_future<R> &kept() const
  {
    if (!kept_)
      throw future_uninitialized();
    return *kept_;
  }

  std::shared_ptr<kept_future<R>> kept_;
};

template <typename R>
class shared_future;

template <typename R>
class future : public any_future<R> {
 public:
  future() noexcept = default;
  explicit future(ws::future<R> &&from) : future(std::make_shared<kept_future<R>>(std::move(from))) {}
  future(future &&) noexcept = default;
  future &operator=(future &&) noexcept = default;

  shared_future<R> share() { return shared_future<R>(std::move(*this)); }
  R get()
  {
    this->kept();
    const auto kept = std::move(this->kept_);
    if constexpr (std::is_void_v<R>)
      kept->value();
    else if constexpr (std::is_reference_v<R>)
      return *kept->value();
    else
      return std::move(kept->value());
  }

 private:
  friend class shared_future<R>;
  explicit future(std::shared_ptr<kept_future<R>> kept) noexcept : any_future<R>(std::move(kept)) {}
};

template <typename R>
class shared_future : public any_future<R> {
 public:
  shared_future() noexcept = default;
  shared_future(future<R> &&from) : any_future<R>((from.kept(), std::move(from.kept_))) {}
  shared_future &operator=(future<R> &&from) { return *this = shared_future(std::move(from)); }

  decltype(auto) get() const
  {
    if constexpr (std::is_void_v<R>)
      static_cast<void>(this->kept().value());
    else if constexpr (std::is_reference_v<R>)
      return static_cast<R>(*this->kept().value());
    else
      return static_cast<const R &>(this->kept().value());
  }
};

template <typename R>
class promise {
 public:
  promise() : state_(std::in_place) {}
  template <typename Allocator>
  promise(std::allocator_arg_t, Allocator) : promise()
  {
  }
  promise(promise &&other) noexcept { swap(other); }
  promise &operator=(promise &&other) noexcept
  {
    promise before(std::move(*this));
    swap(other);
    return *this;
  }
  ~promise()
  {
    if (state_ && !state_->done)
      state_->of.set_exception(std::make_exception_ptr(broken_promise()));
  }
  void swap(promise &other) noexcept { state_.swap(other.state_); }

  future<R> get_future()
  {
    if (!state_)
      throw promise_uninitialized();
    if (std::exchange(state_->taken, true))
      throw future_already_retrieved();
    return future<R>(state_->of.get_future());
  }
  template <typename... Value>
  void set_value(Value &&...value)
  {
    claim().set_value(std::forward<Value>(value)...);
  }
  void set_exception(std::exception_ptr error) { claim().set_exception(std::move(error)); }

 private:
  struct state {
    ws::promise<R> of;
    bool taken = false, done = false;
  };

  ws::promise<R> &claim()
  {
    if (!state_)
      throw promise_uninitialized();
    if (std::exchange(state_->done, true))
      throw promise_already_satisfied();
    return state_->of;
  }

  std::optional<state> state_;
};

template <typename R, typename... Args>
class packaged_call {
 public:
  packaged_call() = default;
  template <typename F, typename = std::enable_if_t<!std::is_base_of_v<packaged_call, std::decay_t<F>>>>
  explicit packaged_call(F &&f) : call_(make(std::forward<F>(f))), state_(std::in_place)
  {
  }
  template <typename Allocator, typename F>
  packaged_call(std::allocator_arg_t, Allocator, F &&f) : packaged_call(std::forward<F>(f))
  {
  }
  packaged_call(packaged_call &&other) noexcept { swap(other); }
  packaged_call &operator=(packaged_call &&other) noexcept
  {
    packaged_call before(std::move(*this));
    swap(other);
    return *this;
  }
  void swap(packaged_call &other) noexcept
  {
    call_.swap(other.call_);
    state_.swap(other.state_);
  }

  bool valid() const noexcept { return state_.has_value(); }
  future<R> get_future() { return state().promised.get_future(); }
  void operator()(Args... args)
  {
    if (std::exchange(state().called, true))
      throw promise_already_satisfied();
    try {
      if constexpr (std::is_void_v<R>) {
        (*call_)(std::forward<Args>(args)...);
        state().promised.set_value();
      } else {
        state().promised.set_value((*call_)(std::forward<Args>(args)...));
      }
    } catch (...) {
      state().promised.set_exception(std::current_exception());
    }
  }
  void reset()
  {
    state();
    state_.emplace();
  }

 private:
  struct callable {
    virtual ~callable() = default;
    virtual R operator()(Args... args) = 0;
  };
  template <typename F>
  struct callable_of final : callable {
    explicit callable_of(F &&made) : f(std::move(made)) {}
    R operator()(Args... args) override { return std::invoke(f, std::forward<Args>(args)...); }
    F f;
  };
  struct task_state {
    promise<R> promised;
    bool called = false;
  };

  template <typename F>
  static std::unique_ptr<callable> make(F &&f)
  {
    return std::make_unique<callable_of<std::decay_t<F>>>(std::decay_t<F>(std::forward<F>(f)));
  }
  task_state &state()
  {
    if (!state_)
      throw packaged_task_uninitialized();
    return *state_;
  }

  std::unique_ptr<callable> call_;
  std::optional<task_state> state_;
};

template <typename Signature>
class packaged_task;

template <typename R, typename... Args>
class packaged_task<R(Args...)> : public packaged_call<R, Args...> {
 public:
  using packaged_call<R, Args...>::packaged_call;
};

template <typename F, typename... Args>
auto async(launch policy, std::allocator_arg_t, fixedsize_stack stack, F &&f, Args &&...args)
{
  if constexpr (std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>) {
    using R = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;
    packaged_task<R(std::decay_t<Args>...)> task(std::forward<F>(f));
    future<R> result = task.get_future();
    fiber(policy, std::allocator_arg, stack, std::move(task), std::forward<Args>(args)...).detach();
    return result;
  } else { // f is an allocator
    return async(policy, std::allocator_arg, stack, std::forward<Args>(args)...);
  }
}
template <typename F, typename... Args>
auto async(launch policy, F &&f, Args &&...args)
{
  return async(policy, std::allocator_arg, fixedsize_stack(), std::forward<F>(f),
               std::forward<Args>(args)...);
}

} // namespace fibers
} // namespace boost

#endif
