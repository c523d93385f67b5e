// SPDX-License-Identifier: BSD-3-Clause
/// @file scheduler.cpp
/// Tasks and waits.
#include "scheduler.hpp"

#include <condition_variable>

namespace tbb {
namespace detail {
namespace r1 {

const std::uint32_t place::everything = 0;

place &place::here()
{
  static thread_local place mine;
  return mine;
}

bool &place::is_known()
{
  static thread_local bool mine = false;
  return mine;
}

/// Slot 0 is of each thread outside the pool.
static d1::slot_id own_slot()
{
  place::is_known() = true;
  return static_cast<d1::slot_id>(ws_worker_index() + 1);
}

/// @brief Run a task, and those that it returns in place of a spawn.
static void run(d1::task *task, d1::task_group_context &context, std::uint64_t slot)
{
  place to = place::here();
  to.context = &context;
  const entry inside(to);
  d1::execution_data data;
  data.context = &context;
  data.original_slot = static_cast<d1::slot_id>(slot);
  data.affinity_slot = d1::no_slot;
  while (task) {
    try {
      task = task_group_context_impl::is_cancelled(context) ? task->cancel(data) : task->execute(data);
    } catch (...) {
      task_group_context_impl::keep_exception(context); // the task is cancelled next
    }
  }
}

static void run_queued(void *task_arg)
{
  d1::task *const task = static_cast<d1::task *>(task_arg);
  task_accessor of{*task};
  place to;
  to.in = of.in();
  to.isolation = of.isolation();
  const entry inside(to);
  run(task, *of.context(), of.slot());
}

void push(d1::task &task, d1::task_group_context &context, arena &in, const void *isolation)
{
  task_group_context_impl::bind(context);
  task_accessor of{task};
  of.context() = &context;
  of.in() = &in;
  of.isolation() = isolation;
  of.slot() = own_slot();
  ws_task_t queued = {};
  queued.func = run_queued;
  queued.arg = &task;
  queued.group = ws_group_tag(isolation);
  if (ws_pool_push(in.pool(), queued) < 0)
    std::abort();
}

void spawn(d1::task &task, d1::task_group_context &context)
{
  const place &from = place::here();
  push(task, context, from.entered(), from.isolation);
}
void spawn(d1::task &task, d1::task_group_context &context, d1::slot_id)
{
  r1::spawn(task, context);
}

/// A wait_context, for ws_pool_await().
class task_dispatcher {
 public:
  static void wait(d1::wait_context &until, d1::task_group_context &context)
  {
    task_group_context_impl::bind(context);
    const place &from = place::here();
    const ws_event_t event = {is_ready, sleep, &until};
    ws_pool_await(from.entered().pool(), ws_group_tag(from.isolation), &event);
    task_group_context_impl::rethrow(context);
  }
  /// Some wait_context is over.
  static void notify()
  {
    const std::lock_guard<std::mutex> held(mutex);
    over.notify_all();
  }

 private:
  static bool is_ready(void *until) { return !static_cast<d1::wait_context *>(until)->continue_execution(); }
  static void sleep(void *until)
  {
    std::unique_lock<std::mutex> held(mutex);
    over.wait(held, [until] { return is_ready(until); });
  }

  static std::mutex mutex;
  static std::condition_variable over;
};
std::mutex task_dispatcher::mutex;
std::condition_variable task_dispatcher::over;

void wait(d1::wait_context &until, d1::task_group_context &context)
{
  task_dispatcher::wait(until, context);
}
void execute_and_wait(d1::task &task, d1::task_group_context &context, d1::wait_context &until,
                      d1::task_group_context &waits)
{
  task_group_context_impl::bind(context);
  run(&task, context, own_slot());
  r1::wait(until, waits);
}
void notify_waiters(std::uintptr_t)
{
  task_dispatcher::notify();
}

d1::slot_id execution_slot(const d1::execution_data *data)
{
  return data || place::is_known() ? own_slot() : d1::slot_id(-1);
}
d1::slot_id execution_slot(const d1::task_arena_base &)
{
  return own_slot();
}
d1::task_group_context *current_context()
{
  return place::here().context;
}
d1::wait_tree_vertex_interface *get_thread_reference_vertex(d1::wait_tree_vertex_interface *of)
{
  return of;
}

} // namespace r1
} // namespace detail
} // namespace tbb
