// SPDX-License-Identifier: BSD-3-Clause
/// @file scheduler.hpp
/// marl::Scheduler on ws_pool.h and ws_fiber.h, for marl's tests. Each of their sources includes it first, so
/// that marl's own scheduler.h is left out. The other headers of marl, which wait by Scheduler::Fiber, are
/// those of the checkout.
///
/// What differs: fibers may continue on another thread; a scheduler without workers has one, which runs the
/// tasks of the threads that are bound to it; affinity policies are ignored.
#ifndef marl_scheduler_h
#define marl_scheduler_h

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "marl/containers.h"
#include "marl/debug.h"
#include "marl/deprecated.h"
#include "marl/export.h"
#include "marl/memory.h"
#include "marl/mutex.h"
#include "marl/task.h"
#include "marl/thread.h"

#include "ws_pool.h"
#include "ws_sync.h"

namespace marl {

class Scheduler {
 public:
  using TimePoint = std::chrono::system_clock::time_point;
  using Predicate = std::function<bool()>;
  using ThreadInitializer = std::function<void(int workerId)>;

  struct Config {
    static constexpr size_t DefaultFiberStackSize = 1024 * 1024;
    struct WorkerThread {
      int count = 0;
      ThreadInitializer initializer;
      std::shared_ptr<Thread::Affinity::Policy> affinityPolicy;
    };
    WorkerThread workerThread;
    Allocator *allocator = Allocator::Default;
    size_t fiberStackSize = DefaultFiberStackSize;

    static Config allCores();
    Config &setAllocator(Allocator *with)
    {
      allocator = with;
      return *this;
    }
    Config &setFiberStackSize(size_t bytes)
    {
      fiberStackSize = bytes;
      return *this;
    }
    Config &setWorkerThreadCount(int count)
    {
      workerThread.count = count;
      return *this;
    }
    Config &setWorkerThreadInitializer(const ThreadInitializer &initializer)
    {
      workerThread.initializer = initializer;
      return *this;
    }
    Config &setWorkerThreadAffinityPolicy(const std::shared_ptr<Thread::Affinity::Policy> &policy)
    {
      workerThread.affinityPolicy = policy;
      return *this;
    }
  };

  /// What waits: a fiber, or a thread that is bound to a scheduler.
  class Fiber {
   public:
    static Fiber *current();

    void wait(marl::lock &lock, const Predicate &pred) { wait_locked(lock, nullptr, pred); }
    template <typename Clock, typename Duration>
    bool wait(marl::lock &lock, const std::chrono::time_point<Clock, Duration> &timeout,
              const Predicate &pred)
    {
      const TimePoint until = std::chrono::time_point_cast<TimePoint::duration, TimePoint::clock>(timeout);
      return wait_locked(lock, &until, pred);
    }
    void wait() { wait_notified(nullptr); }
    template <typename Clock, typename Duration>
    bool wait(const std::chrono::time_point<Clock, Duration> &timeout)
    {
      const TimePoint until = std::chrono::time_point_cast<TimePoint::duration, TimePoint::clock>(timeout);
      return wait_notified(&until);
    }
    void notify() { ws_gate_open(&notified_); }

    explicit Fiber(uint32_t number) : id(number) {}
    uint32_t const id;

   private:
    bool wait_locked(marl::lock &lock, const TimePoint *until, const Predicate &pred);
    bool wait_notified(const TimePoint *until);

    ws_gate_t notified_ = WS_GATE_INIT;
  };

  explicit Scheduler(const Config &config);
  ~Scheduler();
  Scheduler(const Scheduler &) = delete;
  Scheduler &operator=(const Scheduler &) = delete;

  static Scheduler *get();
  void bind();
  static void unbind();
  void enqueue(Task &&task);
  const Config &config() const { return config_; }

 private:
  static void observe(void *self_arg, const ws_observation_t *seen);

  const Config config_;
  ws_pool_t *pool_ = nullptr;
  std::atomic<uint32_t> fibers_{0};
  std::mutex mutex_;
  std::condition_variable unbound_;
  int bound_ = 0; ///< threads
};

inline void schedule(Task &&task)
{
  MARL_ASSERT_HAS_BOUND_SCHEDULER("marl::schedule");
  Scheduler::get()->enqueue(std::move(task));
}

template <typename F, typename... Args>
void schedule(F &&f, Args &&...args)
{
  MARL_ASSERT_HAS_BOUND_SCHEDULER("marl::schedule");
  if constexpr (sizeof...(Args) == 0)
    Scheduler::get()->enqueue(Task(std::forward<F>(f)));
  else
    Scheduler::get()->enqueue(Task(std::bind(std::forward<F>(f), std::forward<Args>(args)...)));
}

} // namespace marl

#endif
