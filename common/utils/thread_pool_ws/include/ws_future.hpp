// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_future.hpp
/// Results of tasks: ws::future, a std::future for which a task may wait.
///
/// std::future::get() blocks its thread. Inside a task it blocks a worker; if all workers do that, the tasks
/// that they wait for do not run. The waits of ws::future help, inside a task:
/// - If no thread has begun the awaited task, the calling thread runs it, whatever queue it lies in. It then
///   runs as a part of the calling task: ws_current_task() returns that one, and ws_group_wait()
///   without a pool helps in the pool of that one. The thread runs no other task.
/// - If a thread has begun it, the caller spins for a bounded time and sleeps. While a worker sleeps here,
///   another worker may run in its place.
/// So these waits end, with any number of workers, unless they form a circle: a task that waits for itself,
/// or for a task that waits for it. In this a task that waits for a group also waits for the tasks that the
/// group's tasks have pushed, because it may run them. A task that holds a lock while it waits must not need
/// tasks that take the lock.
///
/// In a fiber (ws_context.hpp) they park: the worker runs other tasks, the awaited one among them, which does
/// not need to fit into the fiber's stack. A task that waits for a fiber runs that fiber, but not the tasks
/// for which the fiber waits: wait in fibers, or leave one worker without such a wait. The same holds for
/// coroutines (ws_coroutine.hpp).
///
/// A thread outside any task leaves the task to the workers. Only in pool::get() it helps: it runs the task
/// if it has pushed it and no thread has begun it.
///
/// Fibers and coroutines of a pool: the waiting task runs them if it is of that pool, or runs on a worker of
/// it. Any other task leaves them to the workers there, except in get() of that pool.
///
/// wait_for() and wait_until() help in the same way. If the time is over at the call, they run nothing.
/// So a task with wait_for(0) in a loop does not end if no other thread is free to run the awaited task.
/// If the caller runs the awaited task itself, the wait returns when that task has ended.
///
/// Not helped with: in pool::get() a future that was converted to std::future or std::shared_future, and any
/// other std::future. There pool::get() only lets another worker run in the caller's place. If every worker
/// of a pool sleeps in this way for tasks that are queued, those tasks do not run.
#ifndef WS_FUTURE_HPP
#define WS_FUTURE_HPP

#include "ws_macros_off.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <type_traits>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_key.hpp" // IWYU pragma: export
#include "ws_record.hpp" // IWYU pragma: export
#include "ws_stop.hpp" // IWYU pragma: export
#include "ws_time.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

template <typename R>
class future;
class pool;

namespace detail {

struct future_access;

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
  promised(F &&callable, Promise &&due, Token &&with_token)
      : Token(std::move(with_token)), f(std::move(callable)), promise(std::move(due))
  {
  }

  F f;
  Promise promise;

  fulfilment<R, Promise> last() { return {std::move(promise), {}}; }
  void run(fulfilment<R, Promise> &last)
  {
    if (Token::stop_requested()) {
      drop(last, SKIPPED);
      return;
    }
    const waits_of_call<is_held_fiber<F>, Token> waits(*this);
    last.result.of(std::move(f));
  }
  void drop(fulfilment<R, Promise> &last, int why) { last.result.error = reason(why); }
  using Token::stop_requested;
};

/// What a callable returns. Not an alias of std::invoke_result_t: a callable that is refused is to be
/// reported by check_callable(), not by "no matching function".
template <typename F>
struct returned {
  static_assert(check_callable<std::decay_t<F>>());
  using type = std::invoke_result_t<held<F>>;
};
template <typename F>
using result_of = typename returned<F>::type;

/// For record::settle() of a task with a future: run it now, in place of the queue, if no thread has begun
/// it.
constexpr int CLAIMED = -2;
/// The future has gone.
constexpr int LEFT = -3;
/// The future cancels the task.
constexpr int DROPPED = -4;

/// What is to be called when a future is ready.
using continuation = ws_step_t;

/// The record of a task with a future. It has a group, because a wait for a group parks a fiber, also in
/// programs that are not linked with the library of fibers.
/// It belongs to both the queue and the future, until both have left.
///
/// next:  null --the future attaches--> a continuation --the first of the two leaves, and calls it--> LEFT
///        null --the first of the two leaves--> LEFT
struct awaited : record {
  explicit awaited(const record &verbs) noexcept : record(verbs) { ws_group_init(&ended, 1); }

  static continuation *left() noexcept { return reinterpret_cast<continuation *>(std::uintptr_t{1}); }

  /// @brief Have @p due called when the queue's side has left, and so the future is ready. The future's side.
  /// @return false = it is ready: nothing is called
  bool attach(continuation *due) noexcept
  {
    continuation *none = nullptr;
    // release: what due has. acquire: what the task wrote, if it has left
    return next.compare_exchange_strong(none, due, std::memory_order_acq_rel, std::memory_order_acquire);
  }
  /// @brief Take it back. @return false = it was called, or is being called
  bool detach(continuation *due) noexcept
  {
    return next.compare_exchange_strong(due, nullptr, std::memory_order_relaxed); // relaxed: the same thread
  }
  /// @return whether the other one has left before
  bool leave() noexcept
  {
    // acq_rel: the use by the one that leaves first comes before the end of the record
    continuation *due = next.exchange(left(), std::memory_order_acq_rel);
    if (due && due != left())
      ws_step_run(due); // this record may be gone afterwards
    return due == left();
  }

  ws_group_t ended; ///< complete when the future is ready
  bool dropped = false; ///< by the future: its thread only
  ws_pool_t *pool = nullptr; ///< of the task; null = none. It may be gone when the future is ready
  std::atomic<continuation *> next{nullptr};
};

/// A record with the body of its task. The body ends before the future is ready.
template <typename Body>
struct shared_record : awaited {
  shared_record(const record &verbs, Body &&made) : awaited(verbs), body(std::move(made)) {}
  shared_record(const shared_record &) = delete;
  shared_record &operator=(const shared_record &) = delete;
  ~shared_record() {} // the body has been destroyed

  void finish(int why) noexcept
  {
    auto last = body.last();
    if (why == RUNS)
      body.run(last);
    else
      body.drop(last, why);
    body.~Body();
    last();
    ws_group_complete(&ended, 1);
  }

  std::atomic<bool> begun{false};
  union {
    Body body;
  };
};

/// The record of a task with a future. The task ends when the first of the two begins it. A fiber (@p Parks)
/// begins itself, but the future may cancel it before.
template <typename Body, bool Parks>
struct promised_of final : shared_record<Body> {
  explicit promised_of(Body &&made) : shared_record<Body>({settle_this}, std::move(made)) {}

  static void settle_this(record *base, int why) noexcept
  {
    promised_of *self = static_cast<promised_of *>(base);
    if (Parks && why == CLAIMED)
      return;
    // acq_rel: the thread that begins it sees the body, and one that comes later does not touch it
    if (why != LEFT && !self->begun.exchange(true, std::memory_order_acq_rel)) {
      if (why == DROPPED)
        self->dropped = !self->body.stop_requested(); // else it would not have run anyway
      self->finish(why == CLAIMED ? RUNS : why == DROPPED ? SKIPPED : why);
    }
    if (why != CLAIMED && why != DROPPED && self->leave())
      unmake(self);
  }
};

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

/// Wait for the future of @p task: in a fiber park, else help with that task.
template <typename R>
void await(ws_pool_t *pool, awaited *task, const std::future<R> &future)
{
  using Future = const std::future<R>;
  void *const arg = const_cast<std::future<R> *>(&future);
  if (!future.valid() || is_ready<Future>(arg))
    return; // get() and wait() report a future without a state
  if (is_in_fiber()) {
    ws_group_wait(&task->ended, pool);
    return;
  }
  if (ws_current_task())
    task->settle(task, CLAIMED);
  if (is_ready<Future>(arg))
    return;
  ws_event_t event = {};
  event.ready = is_ready<Future>;
  event.sleep = sleep_for<Future>;
  event.arg = arg;
  ws_pool_await(pool ? pool : ws_pool_if_inside(task->pool), ws_group_tag(task), &event);
}

/// A future and the time until which it is waited for.
template <typename R>
struct timed_future {
  const std::future<R> *future;
  std::uint64_t deadline_ns;

  std::chrono::steady_clock::time_point deadline() const noexcept
  {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
  }
  bool is_late() const noexcept { return std::chrono::steady_clock::now() >= deadline(); }

  static bool is_over(void *self_arg) noexcept
  {
    const timed_future *self = static_cast<const timed_future *>(self_arg);
    return self->future->wait_for(std::chrono::seconds(0)) != std::future_status::timeout || self->is_late();
  }
  static void sleep(void *self_arg) noexcept
  {
    const timed_future *self = static_cast<const timed_future *>(self_arg);
    self->future->wait_until(self->deadline());
  }
};

/// As await(), until a time. @return whether the future is ready
template <typename R>
bool await_until(awaited *task, const std::future<R> &future, std::uint64_t deadline_ns)
{
  constexpr std::uint64_t ns_max = INT64_MAX; // of the clock
  timed_future<R> timed = {&future, deadline_ns < ns_max ? deadline_ns : ns_max};
  const auto ready = [&] { return future.wait_for(std::chrono::seconds(0)) != std::future_status::timeout; };
  if (ready() || timed.is_late()) // wait_for() reports a future without a state
    return ready();
  if (is_in_fiber())
    return ws_group_wait_until(&task->ended, nullptr, deadline_ns) == 0;
  if (ws_current_task())
    task->settle(task, CLAIMED);
  ws_event_t event = {};
  event.ready = timed_future<R>::is_over;
  event.sleep = timed_future<R>::sleep;
  event.arg = &timed;
  ws_pool_await(ws_pool_if_inside(task->pool), ws_group_tag(task), &event);
  return ready();
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
  future(future &&other) noexcept
      : std::future<R>(std::move(other)), task_(std::exchange(other.task_, nullptr))
  {
  }
  future &operator=(future &&other) noexcept
  {
    if (this != &other) {
      leave();
      std::future<R>::operator=(std::move(other));
      task_ = std::exchange(other.task_, nullptr);
    }
    return *this;
  }
  ~future() { leave(); }

  /// @brief Wait, and help as described above. @return the result. Without exceptions in the build, a task
  /// that was refused or skipped has ended the process before.
  R get()
  {
    wait();
    return std::future<R>::get();
  }
  void wait() const { wait_in(nullptr); }

#if WS_EXCEPTIONS
  /// @brief Cancel the task, unless it has begun. The caller destroys its callable.
  /// @return true = the task does not run: get() throws ws::cancelled; false = it has begun, or does not run
  ///         for another reason, or there is no task
  bool cancel() noexcept
  {
    if (!task_)
      return false;
    task_->settle(task_, detail::DROPPED);
    return std::exchange(task_->dropped, false);
  }
#endif

  /// @brief As wait(), but for a time at most. @return ready or timeout
  template <typename Rep, typename Period>
  std::future_status wait_for(const std::chrono::duration<Rep, Period> &time) const
  {
    return wait_to(detail::deadline_after(time)) ? std::future_status::ready : std::future_status::timeout;
  }
  template <typename Clock, typename Duration>
  std::future_status wait_until(const std::chrono::time_point<Clock, Duration> &time) const
  {
    const bool ready =
        detail::wait_until_time(time, [this](std::uint64_t deadline_ns) { return wait_to(deadline_ns); });
    return ready ? std::future_status::ready : std::future_status::timeout;
  }

  /// @brief As wait(), and a thread outside any task helps in @p pool: pool::get().
  void wait_in(ws_pool_t *pool) const
  {
    detail::await(pool, task_, static_cast<const std::future<R> &>(*this));
  }

  /// @brief Have a callable called with the result, as a task of @p pool, when the task has ended. If this
  /// future gets an exception, the callable is not called, and the new future gets the exception.
  /// get() of the new future in a task runs what has not begun: first the task that it waits for.
  /// @param f     called with what get() returns; no fiber
  /// @param pool  must live until this future is ready. If it is stopped then, the new future gets
  ///              std::system_error, as by pool::submit()
  /// @return the future of what @p f returns. This one has no state any more
  /// @throws std::bad_alloc
  template <typename F>
  auto then(pool &pool, F &&f, hint with = {});

  /// Used by pool::submit(): of a task, which the future leaves in the end.
  future(std::future<R> &&result, detail::awaited *task) noexcept
      : std::future<R>(std::move(result)), task_(task)
  {
  }

 private:
  friend struct detail::future_access;

  bool wait_to(std::uint64_t deadline_ns) const
  {
    return detail::await_until(task_, static_cast<const std::future<R> &>(*this), deadline_ns);
  }
  void leave() noexcept
  {
    if (task_)
      task_->settle(task_, detail::LEFT);
  }

  detail::awaited *task_ = nullptr;
};

} // namespace WS_CXX_MODE
} // namespace ws

#endif
