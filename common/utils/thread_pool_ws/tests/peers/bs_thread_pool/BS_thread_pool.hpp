// SPDX-License-Identifier: BSD-3-Clause
/// @file BS_thread_pool.hpp
/// BS::thread_pool on ws::pool, for the tests of BS::thread_pool. The checkout's header of this name gives
/// what is no pool: streams, multi_future, blocks, calls of the operating system. The pool itself is a
/// specialisation of its template for each combination of flags.
///
/// Tasks lie in the queues of ws::pool. The adapter counts them, and holds back those that begin while the
/// pool is paused: in a reset() they outlive the ws::pool, so its own pause is no help. wait() does not help,
/// as in the original: tests count the threads that run tasks. A priority above 0 is high, below 0 low.
#ifndef WS_PEERS_BS_THREAD_POOL_HPP
#define WS_PEERS_BS_THREAD_POOL_HPP

#include_next <BS_thread_pool.hpp>

#include <pthread.h>

#include "ws_pool.hpp"

namespace ws_peers {

/// A function of a worker's index, or without arguments.
template <typename F>
std::function<void(std::size_t)> of_index(F &&f)
{
  auto shared = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
  if constexpr (std::is_invocable_v<std::decay_t<F> &, std::size_t>)
    return [shared](std::size_t index) { (*shared)(index); };
  else
    return [shared](std::size_t) { (*shared)(); };
}

/// @p Pool tells BS::this_thread which pool and worker it is: enter(index), leave().
template <typename Pool, BS::tp Flags>
class bs_pool {
  template <typename F>
  using if_init = std::enable_if_t<std::is_invocable_v<F> || std::is_invocable_v<F, std::size_t>>;
  static constexpr bool has(BS::tp flag)
  {
    return (static_cast<unsigned>(Flags) & static_cast<unsigned>(flag)) != 0;
  }

 public:
  bs_pool() : bs_pool(0) {}
  explicit bs_pool(std::size_t threads)
  {
    create(threads, [](std::size_t) {});
  }
  template <typename F, typename = if_init<F>>
  explicit bs_pool(F &&init) : bs_pool(0, std::forward<F>(init))
  {
  }
  template <typename F, typename = if_init<F>>
  bs_pool(std::size_t threads, F &&init)
  {
    create(threads, of_index(std::forward<F>(init)));
  }
  bs_pool(const bs_pool &) = delete;
  bs_pool &operator=(const bs_pool &) = delete;
  ~bs_pool() { wait_idle(); }

  template <typename F>
  void detach_task(F &&f, BS::priority_t priority = 0)
  {
    {
      std::scoped_lock lock(mutex_);
      queued_++;
    }
    push({ws::task(std::forward<F>(f)), priority});
  }
  template <typename F, typename R = std::invoke_result_t<std::decay_t<F>>>
  [[nodiscard]] std::future<R> submit_task(F &&f, BS::priority_t priority = 0)
  {
    std::packaged_task<R()> task(std::forward<F>(f));
    std::future<R> result = task.get_future();
    detach_task(std::move(task), priority);
    return result;
  }

  template <typename I>
  void detach_bulk(I first, I last, BS::priority_t priority = 0)
  {
    for (; first != last; ++first)
      detach_task(std::move(*first), priority);
  }
  template <typename C>
  void detach_bulk(C &tasks, BS::priority_t priority = 0)
  {
    detach_bulk(std::begin(tasks), std::end(tasks), priority);
  }
  template <typename I, typename R = std::invoke_result_t<std::decay_t<decltype(*std::declval<I>())>>>
  [[nodiscard]] BS::multi_future<R> submit_bulk(I first, I last, BS::priority_t priority = 0)
  {
    BS::multi_future<R> results;
    for (; first != last; ++first)
      results.push_back(submit_task(std::move(*first), priority));
    return results;
  }
  template <typename C,
            typename R = std::invoke_result_t<std::decay_t<decltype(*std::declval<C &>().begin())>>>
  [[nodiscard]] BS::multi_future<R> submit_bulk(C &tasks, BS::priority_t priority = 0)
  {
    return submit_bulk(std::begin(tasks), std::end(tasks), priority);
  }

  template <typename A, typename B, typename T = BS::common_index_type_t<A, B>, typename F>
  void detach_blocks(A first, B end, F &&f, std::size_t count = 0, BS::priority_t priority = 0)
  {
    each_block<T>(first, end, std::forward<F>(f), count,
                  [&](auto &&task) { detach_task(std::move(task), priority); });
  }
  template <typename A, typename B, typename T = BS::common_index_type_t<A, B>, typename F,
            typename R = std::invoke_result_t<std::decay_t<F>, T, T>>
  [[nodiscard]] BS::multi_future<R> submit_blocks(A first, B end, F &&f, std::size_t count = 0,
                                                  BS::priority_t priority = 0)
  {
    BS::multi_future<R> results;
    each_block<T>(first, end, std::forward<F>(f), count,
                  [&](auto &&task) { results.push_back(submit_task(std::move(task), priority)); });
    return results;
  }
  template <typename A, typename B, typename T = BS::common_index_type_t<A, B>, typename F>
  void detach_loop(A first, B end, F &&f, std::size_t count = 0, BS::priority_t priority = 0)
  {
    detach_blocks<A, B, T>(first, end, loop_of<T>(std::forward<F>(f)), count, priority);
  }
  template <typename A, typename B, typename T = BS::common_index_type_t<A, B>, typename F>
  [[nodiscard]] BS::multi_future<void> submit_loop(A first, B end, F &&f, std::size_t count = 0,
                                                   BS::priority_t priority = 0)
  {
    return submit_blocks<A, B, T>(first, end, loop_of<T>(std::forward<F>(f)), count, priority);
  }
  template <typename A, typename B, typename T = BS::common_index_type_t<A, B>, typename F>
  void detach_sequence(A first, B end, F &&f, BS::priority_t priority = 0)
  {
    each_index<T>(first, end, std::forward<F>(f),
                  [&](auto &&task) { detach_task(std::move(task), priority); });
  }
  template <typename A, typename B, typename T = BS::common_index_type_t<A, B>, typename F,
            typename R = std::invoke_result_t<std::decay_t<F>, T>>
  [[nodiscard]] BS::multi_future<R> submit_sequence(A first, B end, F &&f, BS::priority_t priority = 0)
  {
    BS::multi_future<R> results;
    each_index<T>(first, end, std::forward<F>(f),
                  [&](auto &&task) { results.push_back(submit_task(std::move(task), priority)); });
    return results;
  }

  [[nodiscard]] std::size_t get_tasks_queued() const { return count(true, false); }
  [[nodiscard]] std::size_t get_tasks_running() const { return count(false, true); }
  [[nodiscard]] std::size_t get_tasks_total() const { return count(true, true); }
  [[nodiscard]] std::size_t get_thread_count() const noexcept { return ids_.size(); }
  [[nodiscard]] std::vector<BS::thread_t::id> get_thread_ids() const { return ids_; }
  [[nodiscard]] std::vector<BS::thread_t::native_handle_type> get_native_handles() const { return handles_; }

  void pause() { set_paused(true); }
  void unpause() { set_paused(false); }
  [[nodiscard]] bool is_paused() const
  {
    std::scoped_lock lock(mutex_);
    return paused_;
  }
  void purge()
  {
    std::deque<job> dropped; // destroyed without the lock
    const std::size_t skipped = static_cast<std::size_t>(pool_->purge());
    std::scoped_lock lock(mutex_);
    dropped.swap(held_);
    queued_ -= skipped + dropped.size();
  }

  void reset() { reset(0); }
  void reset(std::size_t threads)
  {
    renew(threads, [](std::size_t) {});
  }
  template <typename F, typename = if_init<F>>
  void reset(F &&init)
  {
    renew(0, of_index(std::forward<F>(init)));
  }
  template <typename F, typename = if_init<F>>
  void reset(std::size_t threads, F &&init)
  {
    renew(threads, of_index(std::forward<F>(init)));
  }
  template <typename F>
  void set_cleanup_func(F &&cleanup)
  {
    cleanup_ = of_index(std::forward<F>(cleanup));
  }

  void wait()
  {
    check_deadlock();
    wait_idle();
  }
  template <typename R, typename P>
  bool wait_for(const std::chrono::duration<R, P> &time)
  {
    return wait_until(std::chrono::steady_clock::now() + time);
  }
  template <typename C, typename D>
  bool wait_until(const std::chrono::time_point<C, D> &time)
  {
    check_deadlock();
    std::unique_lock lock(mutex_);
    return idle_.wait_until(lock, time, [this] { return is_idle(); });
  }

 private:
  struct job {
    ws::task call;
    BS::priority_t priority;
  };

  template <typename T, typename F>
  static auto loop_of(F &&f)
  {
    return [f = std::forward<F>(f)](T from, T to) mutable {
      for (T i = from; i < to; i++)
        f(i);
    };
  }
  template <typename T, typename F, typename Each>
  void each_block(T first, T end, F &&f, std::size_t count, Each each)
  {
    if (end <= first)
      return;
    auto shared = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
    const BS::blocks<T> blocks(first, end, count ? count : get_thread_count());
    for (std::size_t i = 0; i < blocks.get_num_blocks(); i++)
      each([shared, from = blocks.start(i), to = blocks.end(i)] { return (*shared)(from, to); });
  }
  template <typename T, typename F, typename Each>
  void each_index(T first, T end, F &&f, Each each)
  {
    auto shared = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
    for (T i = first; i < end; i++)
      each([shared, i] { return (*shared)(i); });
  }

  void push(job &&made)
  {
    const int rank = has(BS::tp::priority) ? made.priority : 0;
    const ws::priority priority = rank > 0   ? ws::priority::high
                                  : rank < 0 ? ws::priority::low
                                             : ws::priority::normal;
    pool_->push([this, made = std::move(made)]() mutable { run(std::move(made)); }, priority);
  }
  void run(job &&made)
  {
    {
      std::scoped_lock lock(mutex_);
      if (paused_) {
        held_.push_back(std::move(made));
        return;
      }
      queued_--;
      running_++;
    }
    call(std::move(made.call));
    std::scoped_lock lock(mutex_);
    running_--;
    if (is_idle())
      idle_.notify_all();
  }
  /// An exception of a detached task is dropped, as by the original. Destroys the task.
  static void call(ws::task task) noexcept
  {
    try {
      task();
    } catch (...) {
    }
  }

  bool is_idle() const { return running_ == 0 && (paused_ || queued_ == 0); }
  std::size_t count(bool queued, bool running) const
  {
    std::scoped_lock lock(mutex_);
    return (queued ? queued_ : 0) + (running ? running_ : 0);
  }
  void set_paused(bool paused)
  {
    std::deque<job> released;
    {
      std::scoped_lock lock(mutex_);
      paused_ = paused;
      if (!paused)
        released.swap(held_);
      if (is_idle())
        idle_.notify_all();
    }
    for (job &each : released)
      push(std::move(each));
  }
  void wait_idle()
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return is_idle(); });
  }
  void check_deadlock() const
  {
    const auto mine = BS::this_thread::get_pool();
    if (has(BS::tp::wait_deadlock_checks) && mine.has_value() && *mine == static_cast<const void *>(this))
      throw BS::wait_deadlock();
  }

  static void observe(void *self_arg, const ws_observation_t *seen)
  {
    bs_pool *self = static_cast<bs_pool *>(self_arg);
    if (seen->what == WS_OBSERVED_START) {
      Pool::enter(self, seen->worker);
      self->ids_[seen->worker] = std::this_thread::get_id();
      self->handles_[seen->worker] = pthread_self();
      self->init_(seen->worker);
    } else if (seen->what == WS_OBSERVED_STOP) {
      self->cleanup_(seen->worker);
      Pool::leave();
    }
  }
  void create(std::size_t threads, std::function<void(std::size_t)> init)
  {
    ws_settings_t settings;
    ws_settings_default(&settings);
    if (threads > 0)
      settings.workers = static_cast<std::uint32_t>(threads);
    init_ = std::move(init);
    ids_.resize(settings.workers);
    handles_.resize(settings.workers);
    settings.fifo = true;
    settings.observer = observe;
    settings.observer_arg = this;
    pool_.emplace(settings);
  }
  /// Tasks that are queued stay: they are held back while there is no pool.
  void renew(std::size_t threads, std::function<void(std::size_t)> init)
  {
    const bool was_paused = is_paused();
    if (has(BS::tp::pause))
      set_paused(true);
    wait_idle();
    pool_.reset();
    create(threads, std::move(init));
    if (has(BS::tp::pause) && !was_paused)
      set_paused(false);
  }

  mutable std::mutex mutex_; ///< of those up to held_
  std::condition_variable idle_;
  std::size_t queued_ = 0, running_ = 0;
  bool paused_ = false;
  std::deque<job> held_;
  std::function<void(std::size_t)> init_, cleanup_ = [](std::size_t) {};
  std::vector<BS::thread_t::id> ids_;
  std::vector<BS::thread_t::native_handle_type> handles_;
  std::optional<ws::pool> pool_; ///< destroyed first: its tasks use the others
};

} // namespace ws_peers

#define WS_PEERS_BS_POOL(FLAGS)                                                                              \
  template <>                                                                                                \
  class BS::thread_pool<static_cast<BS::tp>(FLAGS)>                                                          \
      : public ws_peers::bs_pool<BS::thread_pool<static_cast<BS::tp>(FLAGS)>, static_cast<BS::tp>(FLAGS)> {  \
   public:                                                                                                   \
    using ws_peers::bs_pool<thread_pool, static_cast<BS::tp>(FLAGS)>::bs_pool;                               \
    static void enter(void *pool, std::size_t index)                                                         \
    {                                                                                                        \
      this_thread::my_pool = pool;                                                                           \
      this_thread::my_index = index;                                                                         \
    }                                                                                                        \
    static void leave()                                                                                      \
    {                                                                                                        \
      this_thread::my_pool.reset();                                                                          \
      this_thread::my_index.reset();                                                                         \
    }                                                                                                        \
  }
WS_PEERS_BS_POOL(0);
WS_PEERS_BS_POOL(1);
WS_PEERS_BS_POOL(2);
WS_PEERS_BS_POOL(3);
WS_PEERS_BS_POOL(4);
WS_PEERS_BS_POOL(5);
WS_PEERS_BS_POOL(6);
WS_PEERS_BS_POOL(7);
#undef WS_PEERS_BS_POOL

#endif
