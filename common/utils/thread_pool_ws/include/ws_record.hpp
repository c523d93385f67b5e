// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_record.hpp
/// From a callable to a ws_task_t and back: where the callable lies while it is queued. Internal to the C++
/// headers.
///
/// A ws_task_t holds a function and one argument. The argument is a record (ws_record.h): a block
/// (ws_block.hpp) with the callable in it. A record lives from the push until its task has run, or was
/// skipped or refused. The library settles the record, so any shared library may have compiled these headers.
#ifndef WS_RECORD_HPP
#define WS_RECORD_HPP

#include "ws_macros_off.hpp"

#include <cstdint>
#include <type_traits>

#include "ws_macros_on.hpp"

#include "ws_block.hpp" // IWYU pragma: export
#include "ws_node.h" // IWYU pragma: export
#include "ws_pool.h" // IWYU pragma: export
#include "ws_record.h" // IWYU pragma: export
#include "ws_task.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {

/// A NUMA node on which a task's data lies: ws_task_t.node. Below 0 = not known.
struct node {
  std::int32_t number;
};

/// @return the node of the memory at @p address; not known on error. A system call: ws_node_of()
/// @threads   any
inline node node_of(const void *address) noexcept
{
  return {ws_node_of(address)};
}

enum class priority { normal = WS_PRIORITY_NORMAL, high = WS_PRIORITY_HIGH, low = WS_PRIORITY_LOW };

/// A task's node or its priority, or none: ws_task_t.node has no effect beside a priority.
class hint {
 public:
  hint() noexcept = default;
  hint(ws::node where) noexcept : node_(ws_node_hint(where.number)) {} // not explicit: submit(f, ws::node{2})
  hint(ws::priority rank) noexcept : priority_(static_cast<ws_priority_t>(rank)) {}

  /// @return @p task with the hint
  ws_task_t on(ws_task_t task) const noexcept
  {
    task.priority = priority_;
    task.node = node_;
    return task;
  }

 private:
  ws_priority_t priority_ = WS_PRIORITY_NORMAL;
  std::uint32_t node_ = WS_NODE_ANY;
};

namespace detail {

/// A record without the type of its callable. settle() ends it: runs the callable (RUNS), or reports why it
/// does not run (SKIPPED, or an errno value). An exception that a callable's owner does not catch ends the
/// process there (std::terminate), and so does a callable that ends its thread.
using record = ws_record_t;

/// @p Body has last(), which makes what is to be called last, when the callable has been destroyed and its
/// block can be used again; run(last) and drop(last, why), one of which prepares that.
template <typename Body>
struct record_of final : record {
  explicit record_of(Body &&made) : record{settle_this}, body(std::move(made)) {}

  static void settle_this(record *base, int why) noexcept
  {
    record_of *self = static_cast<record_of *>(base);
    auto last = self->body.last();
    if (why == RUNS)
      self->body.run(last);
    else
      self->body.drop(last, why);
    unmake(self);
    last();
  }

  Body body;
};

/// Nothing is left to do when the record has gone.
struct no_last {
  void operator()() const noexcept {}
};

/// @brief Push a record with a group or tag, by push_of() its callable.
/// @return as ws_pool_push(); on error the record has been settled
template <typename Push>
int push_record(ws_pool_t *pool, record *made, hint with, ws_group_t *group, const Push &push)
{
  ws_task_t task = {};
  task.func = ws_record_func();
  task.arg = made;
  task.group = group;
  const int error = push(pool, with.on(task));
  if (error < 0)
    made->settle(made, -error);
  return error;
}

/// As @p push. The pool may be destroyed when the task has run, also if the push has not returned.
template <typename Push>
struct held_push {
  Push push;
  int operator()(ws_pool_t *pool, const ws_task_t &task) const
  {
    ws_pool_hold(pool);
    const int error = push(pool, task);
    ws_pool_release(pool);
    return error;
  }
};

/// @brief Push @p body in a record of its own. @return as push_record()
template <typename Body, typename Push>
int push_body(ws_pool_t *pool, Body &&body, hint with, ws_group_t *group, const Push &push)
{
  using Record = record_of<std::decay_t<Body>>;
  return push_record(pool, make<Record>(std::forward<Body>(body)), with, group, push);
}

/// A callable that is pushed and forgotten. A fiber may end by ws::cancelled.
template <typename F>
struct forgotten {
  F f;
  no_last last() noexcept { return {}; }
  void run(no_last)
  {
#if WS_EXCEPTIONS
    if constexpr (is_held_fiber<F>) {
      try {
        static_cast<void>(std::move(f)());
      } catch (const cancelled &) {
      }
      return;
    }
#endif
    static_cast<void>(std::move(f)());
  }
  void drop(no_last, int) noexcept {}
};

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
