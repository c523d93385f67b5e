// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_future.hpp
/// Results of tasks: ws::future, a std::future for which a task may wait.
///
/// std::future::get() blocks its thread. Inside a task it blocks a worker; if all workers do that, the tasks
/// that they wait for never run. The get() and wait() of ws::future help:
/// - If the awaited task is still in the queue of the calling worker, the worker runs it. So a task may wait
///   for any task that its own worker has pushed and no thread has begun, also in a pool of one worker. The
///   worker runs no other task meanwhile, never an unrelated one. A thread that is no worker does the same
///   only in pool::get(): it may run tasks, too, while it waits for a group.
/// - Otherwise the thread spins for a bounded time and sleeps. While a worker sleeps here, another worker may
///   run in its place. If every worker of a pool sleeps in this way for tasks in queues of other threads,
///   those tasks never run. A pool with W workers is free of this deadlock if fewer than W of its tasks at
///   once wait for futures of tasks that other threads pushed.
/// - A future that was converted to std::future or std::shared_future, and any other std::future, is not
///   helped with: pool::get() only lets another worker run in the caller's place.
/// - wait_for() and wait_until() do not help.
/// Waits in a circle (a task that waits for itself, or for a task that waits for it) never end.
#ifndef WS_FUTURE_HPP
#define WS_FUTURE_HPP

#include <chrono>
#include <future>
#include <optional>

#include "ws_record.hpp"
#include "ws_stop.hpp"

namespace ws {
inline namespace WS_CXX_MODE {

template <typename R>
class future;

namespace detail {

/// Identities of tasks for ws_group_tag(). They are no addresses: the highest bit is set. A thread takes many
/// at once from the process's counter.
constexpr std::uint64_t IDS_AT_ONCE = 4096;
inline std::atomic<std::uint64_t> next_ids{0};
struct id_range {
  std::uint64_t next, end;
};
inline thread_local id_range own_ids = {0, 0};

inline ws_group_t *new_tag() noexcept
{
  static_assert(sizeof(std::uintptr_t) == 8, "ws: 64-bit machines only");
  if (own_ids.next == own_ids.end) {
    // relaxed: only its value counts
    own_ids.next = next_ids.fetch_add(IDS_AT_ONCE, std::memory_order_relaxed);
    own_ids.end = own_ids.next + IDS_AT_ONCE;
  }
  const std::uintptr_t id = std::uintptr_t{1} << 63 | own_ids.next++ << 2;
  return ws_group_tag(reinterpret_cast<const void *>(id));
}

/// What a callable returned or threw.
template <typename R>
struct outcome {
  std::exception_ptr error;
  std::optional<R> value;

  template <typename F>
  void of(F &&f)
  {
    error = attempt([&] { value.emplace(std::forward<F>(f)()); });
  }
  void into(std::promise<R> &promise) { promise.set_value(std::move(*value)); }
};

template <typename R>
struct outcome<R &> {
  std::exception_ptr error;
  R *value = nullptr;

  template <typename F>
  void of(F &&f)
  {
    error = attempt([&] { value = &std::forward<F>(f)(); });
  }
  void into(std::promise<R &> &promise) { promise.set_value(*value); }
};

template <>
struct outcome<void> {
  std::exception_ptr error;

  template <typename F>
  void of(F &&f)
  {
    error = attempt(std::forward<F>(f));
  }
  void into(std::promise<void> &promise) { promise.set_value(); }
};

template <typename R>
std::promise<R> &promise_of(std::promise<R> &own) noexcept
{
  return own;
}
template <typename R>
std::promise<R> &promise_of(std::promise<R> *callers) noexcept
{
  return *callers;
}

/// Fulfils a promise when the callable has been destroyed. @p Promise is a promise, or a pointer to the
/// caller's.
template <typename R, typename Promise>
struct fulfilment {
  Promise promise;
  outcome<R> result;

  void operator()() noexcept
  {
    std::promise<R> &due = promise_of(promise);
    if (!result.error)
      result.error = attempt([&] { result.into(due); }); // moving the value may throw
    if (result.error)
      due.set_exception(result.error);
  }
};

/// A callable whose result goes into a promise.
template <typename F, typename R, typename Promise, typename Token>
struct promised : Token {
  promised(F &&callable, Promise &&due, Token &&token)
      : Token(std::move(token)), f(std::move(callable)), promise(std::move(due))
  {
  }

  F f;
  Promise promise;

  fulfilment<R, Promise> last() { return {std::move(promise), {}}; }
  void run(fulfilment<R, Promise> &last)
  {
    if (Token::stop_requested())
      drop(last, SKIPPED);
    else
      last.result.of(std::move(f));
  }
  void drop(fulfilment<R, Promise> &last, int why) { last.result.error = reason(why); }
};

/// What a callable returns. Not an alias of std::invoke_result_t: a callable that is refused is to be
/// reported by check_callable(), not by "no matching function".
template <typename F>
struct returned {
  static_assert(check_callable<std::decay_t<F>>());
  using type = std::invoke_result_t<std::decay_t<F>>;
};
template <typename F>
using result_of = typename returned<F>::type;

/// Push a callable whose result goes into @p promise. Refused: the promise holds the error.
template <typename F, typename R, typename Promise, typename Token>
void push_promised(ws_pool_t *pool, F &&f, Promise promise, Token token, hint with, ws_group_t *tag)
{
  using Body = promised<std::decay_t<F>, R, Promise, Token>;
  static_assert(check_callable<std::decay_t<F>>());
  std::decay_t<F> callable(std::forward<F>(f));
  push_body(pool, Body(std::move(callable), std::move(promise), std::move(token)), with, tag);
}

template <typename Future>
bool is_ready(void *future) noexcept
{
  return static_cast<Future *>(future)->wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}
template <typename Future>
void sleep_for(void *future) noexcept
{
  static_cast<Future *>(future)->wait();
}

/// Wait for a future of a task that carries @p tag, and help with that task.
template <typename R>
void await(ws_pool_t *pool, const ws_group_t *tag, const std::future<R> &future)
{
  using Future = const std::future<R>;
  if (!future.valid() || is_ready<Future>(const_cast<std::future<R> *>(&future)))
    return; // get() and wait() report a future without a state
  ws_event_t event = {};
  event.ready = is_ready<Future>;
  event.sleep = sleep_for<Future>;
  event.arg = const_cast<std::future<R> *>(&future);
  ws_pool_await(pool, tag, &event);
}

/// Wait for any other future, without help.
template <typename Future>
void await(ws_pool_t *, const Future &future)
{
  if (!future.valid())
    return;
  ws_blocking_begin();
  future.wait();
  ws_blocking_end();
}
template <typename R>
void await(ws_pool_t *pool, const ws::future<R> &future)
{
  future.wait_in(pool);
}

} // namespace detail

/// The future of a submit. Can be converted to std::future, and then blocks as std::future does. get() throws
/// what the task has thrown, ws::cancelled if the task was skipped, std::system_error if the pool refused it.
/// @threads   one at a time
template <typename R>
class future : public std::future<R> {
 public:
  future() noexcept = default;

  /// @brief Wait, and help as described above. @return the result. Without exceptions in the build, a task
  /// that was refused or skipped has ended the process before.
  R get()
  {
    wait();
    return std::future<R>::get();
  }
  void wait() const { wait_in(nullptr); } // a worker helps in its own pool, another thread only waits

  /// @brief As wait(), and a thread that is no worker helps in @p pool.
  void wait_in(ws_pool_t *pool) const
  {
    detail::await(pool, tag_, static_cast<const std::future<R> &>(*this));
  }

  /// Used by pool::submit().
  future(std::future<R> &&made, const ws_group_t *tag) noexcept
      : std::future<R>(std::move(made)), tag_(tag)
  {
  }

 private:
  const ws_group_t *tag_ = nullptr;
};

} // namespace WS_CXX_MODE
} // namespace ws

#endif
