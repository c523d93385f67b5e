// SPDX-License-Identifier: BSD-3-Clause
/// @file arena.cpp
/// Arenas, their observers, and limits.
#include "scheduler.hpp"

#include <set>

namespace tbb {
namespace detail {
namespace r1 {

arena &arena::common()
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  static arena all(static_cast<int>(settings.workers));
  return all;
}

struct task_arena_impl {
  static arena &of(d1::task_arena_base *base)
  {
    return base ? *base->my_arena.load() : place::here().entered();
  }
  static void initialize(d1::task_arena_base &base)
  {
    const bool is_default = base.my_max_concurrency == d1::task_arena_base::automatic;
    const int concurrency = is_default ? arena::common().concurrency : base.my_max_concurrency;
    base.my_max_concurrency = concurrency;
    base.my_arena = new arena(concurrency);
  }
  static bool attach(d1::task_arena_base &base)
  {
    if (!place::is_known())
      return false;
    arena &entered = place::here().entered();
    base.my_max_concurrency = entered.concurrency;
    base.my_arena = entered.share();
    return true;
  }
  static void terminate(d1::task_arena_base &base)
  {
    if (arena *const from = base.my_arena.exchange(nullptr))
      from->leave();
  }
  static int concurrency(const d1::task_arena_base *base)
  {
    if (base && base->my_max_concurrency != d1::task_arena_base::automatic)
      return base->my_max_concurrency;
    return base ? arena::common().concurrency : place::here().entered().concurrency;
  }
};

void initialize(d1::task_arena_base &base)
{
  task_arena_impl::initialize(base);
}
void terminate(d1::task_arena_base &base)
{
  task_arena_impl::terminate(base);
}
bool attach(d1::task_arena_base &base)
{
  return task_arena_impl::attach(base);
}

/// The stay of a thread in an arena, for its observers.
class stay {
 public:
  explicit stay(arena &in) : in_(in) { in_.observers.call(&d1::task_scheduler_observer::on_scheduler_entry); }
  stay(const stay &) = delete;
  stay &operator=(const stay &) = delete;
  ~stay() { in_.observers.call(&d1::task_scheduler_observer::on_scheduler_exit); }

 private:
  arena &in_;
};

void execute(d1::task_arena_base &base, d1::delegate_base &call)
{
  place to;
  to.in = &task_arena_impl::of(&base);
  place::is_known() = true;
  const entry inside(to);
  const stay observed(*to.in);
  call();
}
void isolate_within_arena(d1::delegate_base &call, std::intptr_t)
{
  place to = place::here();
  to.isolation = &call;
  const entry inside(to);
  call();
}
void enqueue(d1::task &task, d1::task_group_context &context, d1::task_arena_base *in)
{
  push(task, context, task_arena_impl::of(in), &place::everything);
}
void enqueue(d1::task &task, d1::task_arena_base *in)
{
  static d1::task_group_context of_none(d1::task_group_context::isolated);
  enqueue(task, of_none, in);
}

void observer_list::observe(d1::task_scheduler_observer &by, bool on)
{
  observer_list &of = task_arena_impl::of(by.my_task_arena).observers;
  const std::lock_guard<std::mutex> held(of.mutex_);
  of.active_.remove(&by);
  if (on)
    of.active_.push_back(&by);
  by.my_proxy = on ? reinterpret_cast<observer_proxy *>(&of) : nullptr;
}
void observer_list::call(void (d1::task_scheduler_observer::*method)(bool))
{
  const std::lock_guard<std::mutex> held(mutex_);
  for (d1::task_scheduler_observer *each : active_)
    (each->*method)(false);
}
void observe(d1::task_scheduler_observer &by, bool on)
{
  observer_list::observe(by, on);
}

/// The limits of max_allowed_parallelism that hold, under a mutex.
struct global_control_impl {
  static std::mutex mutex;
  static std::multiset<std::size_t> limits;

  static bool is_limit(const d1::global_control &of)
  {
    return of.my_param == d1::global_control::max_allowed_parallelism;
  }
  static void create(const d1::global_control &of)
  {
    const std::lock_guard<std::mutex> held(mutex);
    if (is_limit(of))
      limits.insert(of.my_value);
  }
  static void destroy(const d1::global_control &of)
  {
    const std::lock_guard<std::mutex> held(mutex);
    if (is_limit(of))
      limits.erase(limits.find(of.my_value));
  }
  static int limited(int concurrency)
  {
    const std::lock_guard<std::mutex> held(mutex);
    return limits.empty() ? concurrency : std::min(concurrency, static_cast<int>(*limits.begin()));
  }
};
std::mutex global_control_impl::mutex;
std::multiset<std::size_t> global_control_impl::limits;

void create(d1::global_control &of)
{
  global_control_impl::create(of);
}
void destroy(d1::global_control &of)
{
  global_control_impl::destroy(of);
}
int max_concurrency(const d1::task_arena_base *base)
{
  return global_control_impl::limited(task_arena_impl::concurrency(base));
}

} // namespace r1
} // namespace detail
} // namespace tbb
