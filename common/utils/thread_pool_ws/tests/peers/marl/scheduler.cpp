// SPDX-License-Identifier: BSD-3-Clause
/// @file scheduler.cpp
/// scheduler.hpp.
#include "scheduler.hpp"

#include <cstdlib>
#include <ctime>
#include <optional>

#include "ws_fiber.h"

namespace marl {
namespace {

/// A task of a scheduler, from its enqueue to its end.
struct job {
  Task task;
  Scheduler *scheduler;
  Scheduler::Fiber fiber;
};

void run(void *job_arg)
{
  job *self = static_cast<job *>(job_arg);
  self->task();
  delete self;
}

/// @return the job that the caller is inside; NULL = none
job *running()
{
  const ws_task_t *task = ws_current_task();
  return task && task->func == run ? static_cast<job *>(task->arg) : nullptr;
}

/// Of a thread, outside fibers.
struct own {
  Scheduler *scheduler = nullptr;
  std::optional<Scheduler::Fiber> fiber; ///< while it is bound
};

/// A fiber may continue on another thread: the address is not to be kept.
__attribute__((noinline)) own &of_thread()
{
  static thread_local own mine;
  return mine;
}

uint64_t monotonic_ns(const Scheduler::TimePoint *until)
{
  if (!until)
    return WS_SYNC_NO_DEADLINE;
  const auto left = *until - Scheduler::TimePoint::clock::now(); // first: a late look makes the wait longer
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
  const int64_t at_ns = now_ns + std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  return at_ns > 0 ? static_cast<uint64_t>(at_ns) : 0;
}

} // namespace

Scheduler::Config Scheduler::Config::allCores()
{
  return Config().setWorkerThreadCount(static_cast<int>(Thread::numLogicalCPUs()));
}

Scheduler::Fiber *Scheduler::Fiber::current()
{
  if (job *inside = running())
    return &inside->fiber;
  own &mine = of_thread();
  return mine.fiber ? &*mine.fiber : nullptr;
}

/// A notification between the look at the predicate and the wait opens the gate.
bool Scheduler::Fiber::wait_locked(marl::lock &lock, const TimePoint *until, const Predicate &pred)
{
  for (;;) {
    ws_gate_close(&notified_);
    if (pred())
      return true;
    lock.unlock_no_tsa();
    const int result = ws_gate_wait_until(&notified_, monotonic_ns(until));
    lock.lock_no_tsa();
    if (result != 0)
      return pred();
  }
}

bool Scheduler::Fiber::wait_notified(const TimePoint *until)
{
  const int result = ws_gate_wait_until(&notified_, monotonic_ns(until));
  ws_gate_close(&notified_);
  return result == 0;
}

void Scheduler::observe(void *self_arg, const ws_observation_t *seen)
{
  Scheduler *self = static_cast<Scheduler *>(self_arg);
  if (seen->what == WS_OBSERVED_START && self->config_.workerThread.initializer)
    self->config_.workerThread.initializer(static_cast<int>(seen->worker));
}

Scheduler::Scheduler(const Config &config) : config_(config)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = config.workerThread.count > 0 ? static_cast<uint32_t>(config.workerThread.count) : 1;
  settings.fifo = true;
  settings.observer = observe;
  settings.observer_arg = this;
  if (ws_pool_create(&pool_, &settings) < 0)
    std::abort();
}

Scheduler::~Scheduler()
{
  {
    std::unique_lock<std::mutex> lock(mutex_);
    unbound_.wait(lock, [this] { return bound_ == 0; });
  }
  ws_pool_destroy(pool_); // runs what is queued
}

Scheduler *Scheduler::get()
{
  const job *inside = running();
  return inside ? inside->scheduler : of_thread().scheduler;
}

void Scheduler::bind()
{
  own &mine = of_thread();
  mine.scheduler = this;
  mine.fiber.emplace(fibers_++);
  std::lock_guard<std::mutex> lock(mutex_);
  bound_++;
}

void Scheduler::unbind()
{
  own &mine = of_thread();
  Scheduler *from = mine.scheduler;
  mine.fiber.reset();
  mine.scheduler = nullptr;
  std::lock_guard<std::mutex> lock(from->mutex_);
  if (--from->bound_ == 0)
    from->unbound_.notify_all();
}

void Scheduler::enqueue(Task &&task)
{
  if (config_.workerThread.count == 0 && get() != this)
    return; // no thread would run it
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  options.stack_bytes = static_cast<uint32_t>(config_.fiberStackSize);
  job *made = new job{std::move(task), this, Fiber(fibers_++)};
  if (ws_fiber_push(pool_, run, made, nullptr, &options) < 0)
    std::abort();
}

} // namespace marl
