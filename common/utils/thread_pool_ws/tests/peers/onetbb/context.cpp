// SPDX-License-Identifier: BSD-3-Clause
/// @file context.cpp
/// Cancellation and exceptions of groups. A group is cancelled with each group that it is in.
#include "scheduler.hpp"

namespace tbb {
namespace detail {
namespace r1 {

void task_group_context_impl::initialize(context &of)
{
  of.my_cpu_ctl_env = 0;
  of.my_cancellation_requested = 0;
  of.my_may_have_children = 0;
  of.my_state = context::state::created;
  of.my_parent = nullptr;
  of.my_context_list = nullptr;
  of.my_exception = nullptr;
  of.my_itt_caller = nullptr;
}

void task_group_context_impl::bind(context &of)
{
  context::state expected = context::state::created;
  if (!of.my_state.compare_exchange_strong(expected, context::state::locked))
    return;
  context *const parent = of.my_traits.bound ? place::here().context : nullptr;
  of.my_parent = parent == &of ? nullptr : parent;
  of.my_state = of.my_parent ? context::state::bound : context::state::isolated;
}

bool task_group_context_impl::is_cancelled(const context &of)
{
  for (const context *each = &of; each;
       each = each->my_state == context::state::bound ? each->my_parent : nullptr)
    if (each->my_cancellation_requested)
      return true;
  return false;
}

bool task_group_context_impl::cancel(context &of)
{
  return !is_cancelled(of) && of.my_cancellation_requested.exchange(1) == 0;
}

void task_group_context_impl::keep_exception(context &of)
{
  if (cancel(of))
    of.my_exception = new tbb_exception_ptr{std::current_exception()};
}

void task_group_context_impl::rethrow(const context &of)
{
  if (const tbb_exception_ptr *const kept = of.my_exception)
    std::rethrow_exception(kept->error);
}

void task_group_context_impl::reset(context &of)
{
  delete of.my_exception.exchange(nullptr);
  of.my_cancellation_requested = 0;
}

void initialize(d1::task_group_context &of)
{
  task_group_context_impl::initialize(of);
}
void destroy(d1::task_group_context &of)
{
  task_group_context_impl::reset(of);
}
void reset(d1::task_group_context &of)
{
  task_group_context_impl::reset(of);
}
bool cancel_group_execution(d1::task_group_context &of)
{
  return task_group_context_impl::cancel(of);
}
bool is_group_execution_cancelled(d1::task_group_context &of)
{
  return task_group_context_impl::is_cancelled(of);
}
void capture_fp_settings(d1::task_group_context &) {}

} // namespace r1
} // namespace detail
} // namespace tbb
