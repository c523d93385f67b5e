// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_coroutine.hpp
/// Coroutines of C++20: co_await a pool, a future or a group. ws_pool.hpp does not include this header.
///
/// @code
///   ws::coroutine<int> decode(ws::pool &pool, Frame frame)
///   {
///     co_await pool;                                   // continues as a task of the pool
///     int first = co_await pool.submit([&] { return half(frame); });
///     co_return first + co_await other(frame);         // a ws::coroutine
///   }
///   ws::future<int> result = ws::start(pool, decode(pool, frame));
/// @endcode
///
/// co_await                continues
/// pool, ws::on(pool, h)   as a task of the pool, with the hint h
/// ws::on_fiber(pool)      in a fiber of the pool. Link thread_pool_ws_fiber
/// future                  on the thread that made it ready, inside the task there; at once if it is ready.
///                         The result is future.get()
/// group                   in a fiber of the group's pool; at once if it is complete. The result is
///                         group.wait(). Link thread_pool_ws_fiber
/// ws::coroutine<T>        on the thread on which the other one ended. The result is its co_return
///
/// A refused or skipped step throws: std::system_error if the pool refused the task or fiber, ws::cancelled
/// if an abort skipped it. The coroutine then continues on the thread that skips its task.
/// A coroutine runs on the stack of the caller that continues it. Coroutines that continue each other take
/// turns there (ws_step_run() in ws_record.h): the stack does not grow with their number. A wait in it
/// (future.get(), a lock) is one of that caller: in a task it helps, or keeps the worker; after co_await of a
/// group it parks a fiber.
/// A task of the pool that waits for the future of start() runs the steps that the coroutine pushes there: by
/// co_await of the pool, on() or on_fiber(), and the fiber that waits for a group. It does not run tasks
/// whose future or group the coroutine awaits. If all workers wait in this way for such tasks, those do not
/// run: wait in fibers, or leave one worker without such a wait.
/// Coroutine types of other libraries that take any awaitable can co_await all of these. For Asio see
/// docs/library.md.
/// Without exceptions in the build, a refused or skipped step ends the process with a message.
#ifndef WS_COROUTINE_HPP
#define WS_COROUTINE_HPP

#if !defined(__cpp_impl_coroutine)
#error "ws_coroutine.hpp needs C++20's coroutines (with GCC 10 also -fcoroutines)"
#endif

#include "ws_macros_off.hpp"

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_group.hpp" // IWYU pragma: export
#include "ws_promise.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

/// @return an address in the caller's frame
[[gnu::always_inline]] inline std::uintptr_t stack_here() noexcept
{
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); // locals may lie elsewhere with ASan
}

/// @return whether the caller's frame lies on the same stack as @p address, and less than @p bytes below
[[gnu::always_inline]] inline bool is_just_below(std::uintptr_t address, std::uintptr_t bytes) noexcept
{
  return address - stack_here() < bytes;
}

/// What the promise of a ws::coroutine has to continue another coroutine: the one that it awaits, or the one
/// that awaits it. That is a symmetric transfer. clang always makes a jump of it, gcc only when it optimises,
/// and not with sanitizers. Otherwise the stack grows. When it has grown by TRANSFERS_BYTES the transfer
/// becomes a step (ws_record.h): the coroutines on the stack return, and then it is made.
struct transfer : ws_step_t {
  static constexpr std::uintptr_t TRANSFERS_BYTES = 2048;

  /// @param of  null = a coroutine of another type
  static void resume(std::coroutine_handle<> handle, transfer *of) noexcept
  {
    if (of)
      of->begun = stack_here();
    handle.resume();
  }
  /// @return what the caller's await_suspend() returns
  [[gnu::always_inline]] std::coroutine_handle<> to(std::coroutine_handle<> handle, transfer *of) noexcept
  {
#if !defined(__clang__)
    if (!is_just_below(begun, TRANSFERS_BYTES))
      return later(handle, of);
#else
    static_cast<void>(of);
#endif
    return handle;
  }

  std::coroutine_handle<> awaits; ///< who awaits its end
  transfer *awaiting; ///< that one's; its own = that one is of another type
  std::uintptr_t begun; ///< an address on the stack where a caller has continued it; any other = not known
  ws_group_t *tag = nullptr; ///< of its steps: of the future that start() returns; null = it has none

 private:
  [[gnu::noinline]] std::coroutine_handle<> later(std::coroutine_handle<> handle, transfer *of) noexcept
  {
    call = [](ws_step_t *base) noexcept {
      transfer *self = static_cast<transfer *>(base);
      resume(self->next_, self->of_); // it may be gone afterwards
    };
    next_ = handle;
    of_ = of;
    ws_step_next(this);
    return std::noop_coroutine();
  }

  std::coroutine_handle<> next_;
  transfer *of_;
};

template <typename Promise>
transfer *transfer_of(std::coroutine_handle<Promise> handle) noexcept
{
  if constexpr (std::is_base_of_v<transfer, Promise>)
    return &handle.promise();
  else
    return nullptr;
}

/// A coroutine that waits.
struct suspended {
  suspended() noexcept {} // nothing is known before a coroutine waits
  template <typename Promise>
  suspended(std::coroutine_handle<Promise> its_handle) noexcept
      : handle(its_handle), of(transfer_of(its_handle))
  {
  }
  void resume() const noexcept { transfer::resume(handle, of); }
  ws_group_t *tag() const noexcept { return of ? of->tag : nullptr; }

  std::coroutine_handle<> handle;
  transfer *of;
};

/// A coroutine that waits as a task: a record in its frame. The record is settled once, and then continues
/// it. If that happens inside the push, it is a step: awaits in a loop do not deepen the stack.
struct resumption : record, ws_step_t {
  static constexpr std::uintptr_t PUSH_BYTES = 65536; ///< a push needs less of a stack

  resumption() noexcept : record{settle_this} {}

  static void settle_this(record *base, int why) noexcept
  {
    resumption *self = static_cast<resumption *>(base);
    self->why = why;
    if (!is_just_below(self->pushed_at, PUSH_BYTES)) {
      self->waiting.resume();
      return;
    }
    self->call = [](ws_step_t *step) noexcept { static_cast<resumption *>(step)->waiting.resume(); };
    ws_step_run(self);
  }
  /// @return the task that continues it
  ws_task_t make_task() noexcept
  {
    ws_task_t task = {};
    task.func = ws_record_func();
    task.arg = static_cast<record *>(this);
    task.group = waiting.tag();
    return task;
  }
  /// The step is over. @throws if the pool refused or skipped it
  void check(const char *what) const
  {
    if (why == SKIPPED)
      fail_cancelled(what);
    if (why != RUNS)
      fail(why, what);
  }

  suspended waiting;
  std::uintptr_t pushed_at; ///< an address on the stack of the push; 0 = the push cannot settle the record
  int why = RUNS;
};

/// @tparam Push  as push_of() returns it
template <typename Push>
class push_awaiter : resumption {
 public:
  push_awaiter(ws_pool_t *pool, hint with, Push push) noexcept : pool_(pool), with_(with), push_(push) {}
  push_awaiter(const push_awaiter &) = delete;
  push_awaiter &operator=(const push_awaiter &) = delete;

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle)
  {
    waiting = handle;
    pushed_at = stack_here();
    const int error = held_push<Push>{push_}(pool_, with_.on(make_task()));
    if (error == 0) // the coroutine may have gone on, and this awaiter may be gone
      return true;
    why = -error;
    return false;
  }
  void await_resume() const { check("co_await of a ws::pool"); }

 private:
  ws_pool_t *const pool_;
  const hint with_;
  const Push push_;
};

/// Can be copied, and awaited more than once.
template <typename Push>
struct push_awaitable {
  ws_pool_t *pool;
  hint with;
  Push push;
  auto operator co_await() const noexcept { return push_awaiter<Push>(pool, with, push); }
};

template <typename R>
class future_awaiter : continuation {
 public:
  explicit future_awaiter(future<R> &&of) noexcept : continuation{resume, nullptr}, future_(std::move(of)) {}
  future_awaiter(const future_awaiter &) = delete;
  future_awaiter &operator=(const future_awaiter &) = delete;
  /// The frame of a coroutine that waits may be destroyed before the future is ready, not at the same moment.
  ~future_awaiter()
  {
    awaited *const task = future_access::task_of(future_);
    if (waiting_.handle && task)
      task->detach(this);
  }

  bool await_ready() const
  {
    return !future_.valid() || !future_access::task_of(future_)
           || static_cast<const std::future<R> &>(future_).wait_for(std::chrono::seconds(0))
                  == std::future_status::ready;
  }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) noexcept
  {
    waiting_ = handle;
    return future_access::task_of(future_)->attach(this);
  }
  R await_resume() { return future_.get(); }

 private:
  static void resume(continuation *base) noexcept { static_cast<future_awaiter *>(base)->waiting_.resume(); }

  future<R> future_;
  suspended waiting_;
};

/// A fiber waits for the group, and continues the coroutine.
class group_awaiter : resumption {
 public:
  explicit group_awaiter(group &of) noexcept : of_(of) {}
  group_awaiter(const group_awaiter &) = delete;
  group_awaiter &operator=(const group_awaiter &) = delete;

  bool await_ready() const noexcept { return of_.helps_in() == nullptr; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle)
  {
    waiting = handle;
    pushed_at = 0;
    settle = wait;
    ws_pool_t *const pool = of_.helps_in();
    if (!pool)
      return false;
    const held_push<push_as_fiber> push{{fiber_options{"co_await", WS_FIBER_STACK_BYTES}}};
    const int error = push(pool, make_task());
    if (error == 0)
      return true;
    why = -error;
    return false;
  }
  bool await_resume()
  {
    check("co_await of a ws::group");
    return of_.wait();
  }

 private:
  /// In the fiber. Of an abort: the group's tasks that have not begun are skipped, too.
  static void wait(record *base, int why) noexcept
  {
    group_awaiter *self = static_cast<group_awaiter *>(base);
    if (why == RUNS)
      self->of_.join();
    settle_this(base, why);
  }

  group &of_;
};

} // namespace detail

/// @brief co_await it to continue as a task of @p pool. @param with  a ws::node or a ws::priority
[[nodiscard]] inline auto on(pool &pool, hint with = {}) noexcept
{
  return detail::push_awaitable<detail::push_t>{pool.native(), with, ws_pool_push};
}

/// @brief co_await it to continue in a fiber of @p pool: there waits park. Link thread_pool_ws_fiber.
[[nodiscard]] inline auto on_fiber(pool &pool, const fiber_options &options = {}, hint with = {}) noexcept
{
  return detail::push_awaitable<detail::push_as_fiber>{pool.native(), with, detail::push_as_fiber{options}};
}

inline auto operator co_await(pool &pool) noexcept
{
  return detail::push_awaiter<detail::push_t>(pool.native(), {}, ws_pool_push);
}
template <typename R>
auto operator co_await(future<R> &&of) noexcept
{
  return detail::future_awaiter<R>(std::move(of));
}
/// The group must have no wait besides, and get no further tasks from outside, until the coroutine continues.
inline auto operator co_await(group &of) noexcept
{
  return detail::group_awaiter(of);
}

template <typename T = void>
class coroutine;

namespace detail {

template <typename T>
struct coroutine_result : outcome<T> {
  template <typename Value>
  void return_value(Value &&returned)
  {
    if constexpr (std::is_reference_v<T>)
      this->value = &returned;
    else
      this->value.emplace(std::forward<Value>(returned));
  }
  T take()
  {
    rethrow(this->error);
    if constexpr (std::is_reference_v<T>)
      return *this->value;
    else
      return std::move(*this->value);
  }
};
template <>
struct coroutine_result<void> : outcome<void> {
  void return_void() const noexcept {}
  void take() const { rethrow(error); }
};

/// Continues the coroutine that awaits one that has ended.
struct final_awaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept
  {
    transfer &own = ended.promise();
    own.awaiting->begun = own.begun;
    return own.to(own.awaits, own.awaiting);
  }
  void await_resume() const noexcept {}
};

/// The memory of a coroutine's frame, aligned as by operator new: a block, unless it is large.
struct framed {
  static constexpr std::size_t HEAD_BYTES = __STDCPP_DEFAULT_NEW_ALIGNMENT__ - sizeof(void *);
  static constexpr std::size_t BYTES_MAX = 256 - __STDCPP_DEFAULT_NEW_ALIGNMENT__; // the largest has 248

  static void *operator new(std::size_t bytes)
  {
    return bytes <= BYTES_MAX ? static_cast<char *>(block_take(bytes + HEAD_BYTES)) + HEAD_BYTES
                              : ::operator new(bytes);
  }
  static void operator delete(void *frame, std::size_t bytes) noexcept
  {
    if (bytes <= BYTES_MAX)
      ws_block_give(static_cast<char *>(frame) - HEAD_BYTES);
    else
      ::operator delete(frame);
  }
};

template <typename T>
struct coroutine_promise : coroutine_result<T>, transfer, framed {
  coroutine<T> get_return_object() noexcept;
  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { this->error = std::current_exception(); }
};

/// Begins a coroutine, and continues the caller with its result.
template <typename T>
struct coroutine_awaiter {
  std::coroutine_handle<coroutine_promise<T>> frame;

  bool await_ready() const noexcept
  {
    if (!frame || frame.promise().awaits) // one that has ended was awaited, too
      misused("co_await of a ws::coroutine", "it was awaited before, or moved from");
    return false;
  }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) const noexcept
  {
    transfer &own = frame.promise(), *const by = transfer_of(suspended);
    own.awaits = suspended;
    own.awaiting = by ? by : &own;
    if (by)
      own.tag = by->tag;
    own.begun = by ? by->begun : stack_here(); // a coroutine of another type may return to its caller
    return own.to(frame, &own);
  }
  T await_resume() const { return frame.promise().take(); }
};

} // namespace detail

/// What a coroutine returns that begins when it is awaited, or by start(). The object owns the coroutine's
/// frame, with its parameters and locals. It must not be destroyed while the coroutine waits for a pool or a
/// group; while it waits for a future it may, until that is ready. The coroutine that awaits it gets its
/// result, or the exception that has left it. It is awaited once.
/// @threads   one at a time
template <typename T>
class [[nodiscard]] coroutine {
 public:
  using promise_type = detail::coroutine_promise<T>;

  coroutine() noexcept = default;
  coroutine(coroutine &&other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  coroutine &operator=(coroutine &&other) noexcept
  {
    if (this != &other) {
      destroy();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  ~coroutine() { destroy(); }

  explicit operator bool() const noexcept { return frame_ != nullptr; }

  /// @brief Begin it, and continue the caller with its result.
  auto operator co_await() &&noexcept { return detail::coroutine_awaiter<T>{frame_}; }

 private:
  friend promise_type;
  template <typename R>
  friend future<R> start(pool &pool, coroutine<R> of, hint with);
  explicit coroutine(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  void destroy() noexcept
  {
    if (frame_)
      frame_.destroy();
  }

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <typename T>
coroutine<T> coroutine_promise<T>::get_return_object() noexcept
{
  return coroutine<T>(std::coroutine_handle<coroutine_promise>::from_promise(*this));
}

/// A coroutine that none awaits. Its frame goes when it ends.
struct detached {
  struct promise_type : framed {
    detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

template <typename T>
coroutine<T> begin_on(pool &pool, coroutine<T> of, hint with)
{
  co_await on(pool, with);
  co_return co_await std::move(of);
}

template <typename T>
detached run_into(coroutine<T> of, promise<T> due)
{
#if WS_EXCEPTIONS
  std::exception_ptr error;
  try {
#endif
    if constexpr (std::is_void_v<T>) {
      co_await std::move(of);
      of = {};
      due.set_value();
      co_return;
    } else if constexpr (std::is_reference_v<T>) {
      T value = co_await std::move(of);
      of = {};
      due.set_value(value);
      co_return;
    } else {
      T value = co_await std::move(of);
      of = {};
      due.set_value(std::move(value));
      co_return;
    }
#if WS_EXCEPTIONS
  } catch (...) {
    error = std::current_exception();
  }
  of = {};
  due.set_exception(std::move(error));
#endif
}

} // namespace detail

/// @brief Begin a coroutine as a task of @p pool.
/// @return a future with what it returns or throws; std::system_error if the pool refused the task. When the
///         future is ready the coroutine's frame has been destroyed
/// @throws std::bad_alloc
template <typename T>
future<T> start(pool &pool, coroutine<T> of, hint with = {})
{
  if (!of)
    detail::misused("ws::start", "the coroutine was awaited before, or moved from");
  promise<T> due;
  future<T> result = due.get_future();
  coroutine<T> first = detail::begin_on(pool, std::move(of), with);
  detail::awaited *const state = detail::future_access::task_of(result);
  state->pool = pool.native();
  first.frame_.promise().tag = ws_group_tag(state);
  detail::run_into(std::move(first), std::move(due));
  return result;
}

} // namespace WS_CXX_MODE
} // namespace ws

#endif
