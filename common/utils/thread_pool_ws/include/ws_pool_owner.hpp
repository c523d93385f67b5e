// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pool_owner.hpp
/// ws::pool: a pool, created and destroyed with the object. Programs include ws_pool.hpp.
#ifndef WS_POOL_OWNER_HPP
#define WS_POOL_OWNER_HPP

#include "ws_macros_off.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <type_traits>

#include "ws_macros_on.hpp"

#include "ws_future.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

/// The reason why a pool could not be created.
struct first_warning {
  char text[256] = "";

  static void keep(void *self_arg, const char *message) noexcept
  {
    first_warning *self = static_cast<first_warning *>(self_arg);
    if (!self->text[0])
      std::snprintf(self->text, sizeof(self->text), "ws::pool: %s", message);
  }
};

inline ws_pool_t *create(const ws_settings_t &settings)
{
  ws_pool_t *pool;
  const int error = ws_pool_create(&pool, &settings);
  if (error == 0)
    return pool;
  first_warning cause;
  if (error == -EINVAL) { // settings.warn has the reason: ask again for the text of the exception
    ws_settings_t again = settings;
    again.warn = first_warning::keep;
    again.warn_arg = &cause;
    ws_pool_create(&pool, &again);
    ws_pool_destroy(pool); // the settings are as invalid as before: there is none
  }
  fail(-error, cause.text[0] ? cause.text : "ws::pool: the pool cannot be created");
}

struct pool_destroyer {
  void operator()(ws_pool_t *pool) const noexcept { ws_pool_destroy(pool); }
};

/// @brief Make a task with a future, which is to be pushed to @p pool. @param task  out
template <typename R, typename F, typename Token>
future<R> prepare(ws_pool_t *pool, F &&f, Token &&token, awaited **task)
{
  using Body = promised<held<F>, R, std::promise<R>, std::decay_t<Token>>;
  using Record = promised_of<Body, is_fiber<std::decay_t<F>>>;
  held<F> callable = hold(std::forward<F>(f));
  std::promise<R> promise(std::allocator_arg, block_allocator<char>());
  std::future<R> plain = promise.get_future();
  *task = make<Record>(Body(std::move(callable), std::move(promise), std::forward<Token>(token)));
  (*task)->pool = pool;
  return future<R>(std::move(plain), *task);
}

} // namespace detail

/// A work-stealing pool: ws_pool.h.
class pool {
 public:
  /// @brief Create a pool with default settings: a worker for each CPU of the process's mask.
  /// @throws as the constructor with a number of workers
  pool() : pool(default_settings()) {}

  /// @brief Create a pool of @p workers threads, with default settings. Of the environment it reads
  /// TPOOL_WS_TRACE only: see ws_settings_environment() for the others.
  /// @throws std::system_error  as ws_pool_create(); its text names the setting in question. Without
  ///         exceptions in the build the process ends with that text
  /// @throws std::bad_alloc
  explicit pool(std::uint32_t workers) : pool(settings_with(workers)) {}

  /// @param settings  copied. Call ws_settings_default() first
  explicit pool(const ws_settings_t &settings) : native_(detail::create(settings)) {}

  /// Moves keep native(). A pool that was moved from has none: it may be destroyed or assigned to. Assigning
  /// destroys the pool that was there before.
  pool(pool &&) noexcept = default;
  pool &operator=(pool &&) noexcept = default;

  /// @brief Run all tasks that were pushed, then end the workers: ws_pool_destroy(). No other thread may use
  /// the pool any more. In a task of the pool: returns at once, and the pool ends when its tasks have. What
  /// those use, and the functions of the settings, must live until then.
  ~pool() = default;

  ws_pool_t *native() const noexcept { return native_.get(); }

  /// @return the number of workers: ws_pool_size(). 0 if the pool was moved from
  std::uint32_t size() const noexcept { return ws_pool_size(native()); }

  /// @brief Push a callable without arguments; ignore what it returns. Once accepted, it runs exactly once,
  /// or is destroyed if stop() skips it. An exception that leaves it ends the process (std::terminate), and
  /// so does a callable that ends its thread (pthread_exit).
  /// @param with  a ws::node or a ws::priority
  /// @throws std::system_error  the pool refused the task: operation_canceled = it was stopped,
  ///         resource_unavailable_try_again = the queue is full (WS_FULL_FAIL). The callable has been
  ///         destroyed. Without exceptions in the build the process ends with a message: see try_push()
  /// @threads   as ws_pool_push()
  /// @ordering  as ws_pool_push()
  /// @progress  as ws_pool_push(), and calls malloc only if more tasks of the calling thread are queued than
  ///            ever before, or if the callable takes more than 200 bytes
  template <typename F>
  void push(F &&f, hint with = {})
  {
    const int error = push_by(std::forward<F>(f), with, ws_pool_push);
    if (error < 0)
      detail::fail(-error, "ws::pool::push");
  }

  /// @brief As push(), but does not throw, and does not wait for room: ws_pool_try_push().
  /// @return 0, -EAGAIN, -ECANCELED, -ESRCH, -EINVAL (the pool was moved from). On error the callable has
  ///          been destroyed
  template <typename F>
  [[nodiscard]] int try_push(F &&f, hint with = {})
  {
    return push_by(std::forward<F>(f), with, ws_pool_try_push);
  }

  /// @brief Push a callable without arguments, and have what it returns or throws in a future.
  /// A refused push gives a future that holds std::system_error, as push() throws. If an abort skips the
  /// task, the future holds ws::cancelled. When the future is ready the callable has been destroyed.
  /// Without exceptions in the build, a refused or skipped task ends the process with a message.
  /// @return a std::future; see ws_future.hpp for waiting inside a task
  /// @throws std::bad_alloc, or an exception of the callable's constructor
  /// @threads   as push()
  template <typename F, typename R = detail::result_of<F>>
  future<R> submit(F &&f, hint with = {})
  {
    return submit_by<R>(std::forward<F>(f), detail::never_stops(), with);
  }

  /// @brief The same. If a stop is requested before the task begins, it does not run: the future gets
  /// ws::cancelled.
  template <typename F, typename Token, typename R = detail::result_of<F>, typename = detail::if_token<Token>>
  future<R> submit(F &&f, Token token, hint with = {})
  {
    return submit_by<R>(std::forward<F>(f), std::move(token), with);
  }

  /// @brief The same, with a key whose cancel() has the same effect.
  template <typename F, typename R = detail::result_of<F>>
  future<R> submit(F &&f, key &with_key, hint with = {})
  {
    return submit_by<R>(std::forward<F>(f), detail::keyed(with_key), with);
  }

  /// @brief The same, with a promise of the caller.
  /// @param promise  without a result; must live until its future is ready
  /// @throws std::system_error  invalid_argument: @p promise is NULL
  template <typename F, typename R = detail::result_of<F>>
  void submit(F &&f, std::promise<R> *promise, hint with = {})
  {
    if (!promise)
      detail::fail(EINVAL, "ws::pool::submit: the promise is NULL");
    using Body = detail::promised<detail::held<F>, R, std::promise<R> *, detail::never_stops>;
    static_assert(detail::check_callable<std::decay_t<F>>());
    detail::push_body(native(), Body(detail::hold(std::forward<F>(f)), std::move(promise), {}), with, nullptr,
                      detail::push_of(f));
  }

  /// @brief Wait for a future. A task of this pool helps, or lets another worker run in its place: see
  /// ws_future.hpp. @return future.get()
  /// @param future  ws::future, std::future or std::shared_future
  template <typename Future>
  decltype(auto) get(Future &&future)
  {
    detail::await(native(), future);
    return std::forward<Future>(future).get();
  }

  /// @brief Wait for all tasks, and help: ws_pool_wait().
  /// @throws std::system_error  resource_deadlock_would_occur: called in a task of the pool
  void wait()
  {
    const int error = ws_pool_wait(native());
    if (error < 0)
      detail::fail(-error, "ws::pool::wait");
  }

  /// @brief As wait(), but for a time at most: ws_pool_wait_until().
  /// @return false = the time is over
  /// @throws as wait()
  template <typename Rep, typename Period>
  bool wait_for(const std::chrono::duration<Rep, Period> &time)
  {
    return wait_to(detail::deadline_after(time));
  }
  template <typename Clock, typename Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration> &time)
  {
    return detail::wait_until_time(time, [this](std::uint64_t deadline_ns) { return wait_to(deadline_ns); });
  }

  /// @brief Refuse further tasks, and end the workers: ws_pool_stop(). WS_STOP_ABORT skips what is queued:
  /// futures and groups of those tasks get ws::cancelled.
  /// @return the number of tasks skipped, or an error as ws_pool_stop()
  std::int64_t stop(ws_stop_t how) noexcept { return ws_pool_stop(native(), how); }

 private:
  bool wait_to(std::uint64_t deadline_ns)
  {
    const int error = ws_pool_wait_until(native(), deadline_ns);
    if (error < 0 && error != -ETIMEDOUT)
      detail::fail(-error, "ws::pool::wait_until");
    return error == 0;
  }

  static ws_settings_t default_settings() noexcept
  {
    ws_settings_t settings;
    ws_settings_default(&settings);
    return settings;
  }

  static ws_settings_t settings_with(std::uint32_t workers) noexcept
  {
    ws_settings_t settings = default_settings();
    settings.workers = workers;
    return settings;
  }

  template <typename F>
  int push_by(F &&f, hint with, detail::push_t how)
  {
    static_assert(detail::check_callable<std::decay_t<F>>());
    return detail::push_body(native(), detail::forgotten<detail::held<F>>{detail::hold(std::forward<F>(f))},
                             with, nullptr, detail::push_of(f, how));
  }

  template <typename R, typename F, typename Token>
  future<R> submit_by(F &&f, Token token, hint with)
  {
    detail::awaited *task;
    future<R> result = detail::prepare<R>(native(), std::forward<F>(f), std::move(token), &task);
    detail::push_record(native(), task, with, ws_group_tag(task), detail::push_of(f));
    return result;
  }

  std::unique_ptr<ws_pool_t, detail::pool_destroyer> native_;
};

} // namespace WS_CXX_MODE
} // namespace ws

#endif
