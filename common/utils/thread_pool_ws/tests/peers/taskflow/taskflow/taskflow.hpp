// SPDX-License-Identifier: BSD-3-Clause
/// @file taskflow.hpp
/// What Taskflow's test of asynchronous tasks uses of Taskflow, on ws::pool: an executor, its asynchronous
/// tasks, the Runtime of a task, and a graph that is run once. Nothing of Taskflow is included.
#ifndef WS_PEERS_TASKFLOW_HPP
#define WS_PEERS_TASKFLOW_HPP

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "ws_group.hpp"
#include "ws_pool.hpp"

namespace tf {

class Runtime;
class Executor;

struct TaskParams {
  std::string name;
};
struct DefaultTaskParams {};

namespace detail {

template <typename P>
constexpr bool is_params =
    std::is_same_v<std::decay_t<P>, TaskParams> || std::is_same_v<std::decay_t<P>, DefaultTaskParams>;

template <typename F>
constexpr bool takes_runtime = std::is_invocable_v<std::decay_t<F> &, Runtime &>;

template <typename F, bool = takes_runtime<F>>
struct result {
  using type = std::invoke_result_t<std::decay_t<F> &>;
};
template <typename F>
struct result<F, true> {
  using type = std::invoke_result_t<std::decay_t<F> &, Runtime &>;
};
template <typename F>
using result_t = typename result<F>::type;

} // namespace detail

/// A task's access to its executor. What it starts has ended when the task counts as ended.
class Runtime {
 public:
  explicit Runtime(Executor &executor) : shared_(std::make_shared<state>(executor)) {}

  template <typename F>
  void silent_async(F &&f);
  template <typename F>
  auto async(F &&f);
  void corun() { shared_->children.wait(); }

 private:
  struct state {
    explicit state(Executor &in) : executor(in) {}
    Executor &executor;
    ws::group children;
  };
  std::shared_ptr<state> shared_; // tests pass a Runtime by value, too
};

/// A node of a graph.
class Task {
 public:
  template <typename... Tasks>
  void precede(Tasks &&...tasks)
  {
    (add(*this, tasks), ...);
  }
  template <typename... Tasks>
  void succeed(Tasks &&...tasks)
  {
    (add(tasks, *this), ...);
  }

 private:
  friend class Taskflow;
  friend class Executor;
  struct node {
    std::function<void(Executor &)> work;
    std::vector<node *> next;
    std::atomic<std::size_t> before{0};
  };
  static void add(Task &first, Task &second)
  {
    first.node_->next.push_back(second.node_);
    second.node_->before.fetch_add(1, std::memory_order_relaxed); // relaxed: one thread builds the graph
  }
  node *node_ = nullptr;
};

/// A graph. Can be run once.
class Taskflow {
 public:
  template <typename F>
  Task emplace(F &&f);
  template <typename... F, std::enable_if_t<(sizeof...(F) > 1)> * = nullptr>
  auto emplace(F &&...f)
  {
    return std::make_tuple(emplace(std::forward<F>(f))...);
  }

 private:
  friend class Executor;
  std::deque<Task::node> nodes_;
};

class Executor {
 public:
  explicit Executor(std::size_t workers = std::thread::hardware_concurrency())
      : pool_(static_cast<std::uint32_t>(workers))
  {
  }

  template <typename F>
  auto async(F &&f)
  {
    return pool_.submit(whole(std::forward<F>(f)));
  }
  template <typename P, typename F, typename = std::enable_if_t<detail::is_params<P>>>
  auto async(P &&, F &&f)
  {
    return async(std::forward<F>(f));
  }
  template <typename F>
  void silent_async(F &&f)
  {
    pool_.push(whole(std::forward<F>(f)));
  }
  template <typename P, typename F, typename = std::enable_if_t<detail::is_params<P>>>
  void silent_async(P &&, F &&f)
  {
    silent_async(std::forward<F>(f));
  }
  /// Without tasks before it.
  template <typename F>
  auto dependent_async(F &&f)
  {
    return std::make_pair(Task(), async(std::forward<F>(f)));
  }

  std::shared_future<void> run(Taskflow &flow)
  {
    auto ended = std::make_shared<std::promise<void>>();
    auto left = std::make_shared<std::atomic<std::size_t>>(flow.nodes_.size());
    std::vector<Task::node *> first; // before a task of the graph runs and changes the counts
    for (Task::node &each : flow.nodes_)
      if (each.before.load(std::memory_order_relaxed) == 0) // relaxed: nothing of the graph runs
        first.push_back(&each);
    for (Task::node *each : first)
      start(each, ended, left);
    return ended->get_future().share();
  }

  void wait_for_all() { pool_.wait(); }
  int this_worker_id() const { return running_in() == this ? ws_worker_index() : -1; }

  /// The body of a task: with its Runtime if it takes one, and ended when what it started has.
  template <typename F>
  auto whole(F &&f)
  {
    return [this, f = std::forward<F>(f)]() mutable -> detail::result_t<F> {
      inside here(this);
      if constexpr (detail::takes_runtime<F>) {
        Runtime runtime(*this);
        joined last{runtime};
        return f(runtime);
      } else {
        return f();
      }
    };
  }

 private:
  friend class Runtime;
  struct joined {
    Runtime &runtime;
    ~joined() { runtime.corun(); }
  };
  /// The executor whose task the thread runs.
  static const Executor *&running_in()
  {
    static thread_local const Executor *executor = nullptr;
    return executor;
  }
  struct inside {
    explicit inside(const Executor *now) : before(std::exchange(running_in(), now)) {}
    ~inside() { running_in() = before; }
    const Executor *before;
  };

  using promise_t = std::shared_ptr<std::promise<void>>;
  using count_t = std::shared_ptr<std::atomic<std::size_t>>;
  void start(Task::node *node, promise_t ended, count_t left)
  {
    pool_.push([this, node, ended, left] {
      node->work(*this);
      for (Task::node *next : node->next)
        if (next->before.fetch_sub(1, std::memory_order_acq_rel) == 1) // acq_rel: after all before it
          start(next, ended, left);
      if (left->fetch_sub(1, std::memory_order_acq_rel) == 1) // acq_rel: after all others
        ended->set_value();
    });
  }

  ws::pool pool_;
};

template <typename F>
Task Taskflow::emplace(F &&f)
{
  Task task;
  task.node_ = &nodes_.emplace_back();
  task.node_->work = [f = std::forward<F>(f)](Executor &executor) mutable { executor.whole(std::ref(f))(); };
  return task;
}

template <typename F>
void Runtime::silent_async(F &&f)
{
  shared_->children.run(shared_->executor.pool_, shared_->executor.whole(std::forward<F>(f)));
}

template <typename F>
auto Runtime::async(F &&f)
{
  std::packaged_task<detail::result_t<F>()> task(shared_->executor.whole(std::forward<F>(f)));
  auto result = task.get_future();
  shared_->children.run(shared_->executor.pool_, std::move(task));
  return result;
}

} // namespace tf

#endif
