// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_step.cpp
/// Steps from one pool to another: the other pool may be destroyed when the result is there, while the step's
/// push has not returned. Linked with --wrap=ws_pool_push and --wrap=ws_fiber_push.
#include <memory>

#include "../../include/ws_coroutine.hpp"
#include "cxx_scene.hpp"

namespace {

/// The pool whose pushes stand in a gate when the task is queued.
struct target {
  std::atomic<ws_pool_t *> pool{nullptr};
  gate door;
  std::atomic<bool> left{false};
};
target *held;

int stand_after(int result, const ws_pool_t *pool)
{
  if (held && pool == held->pool) {
    held->door.stand();
    held->left = true;
  }
  return result;
}

} // namespace

extern "C" {
int __real_ws_pool_push(ws_pool_t *pool, ws_task_t task);
int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task);
int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task)
{
  return stand_after(__real_ws_pool_push(pool, task), pool);
}

int __real_ws_fiber_push(ws_pool_t *pool, void (*func)(void *), void *arg, ws_group_t *group,
                         const ws_fiber_options_t *options);
int __wrap_ws_fiber_push(ws_pool_t *pool, void (*func)(void *), void *arg, ws_group_t *group,
                         const ws_fiber_options_t *options);
int __wrap_ws_fiber_push(ws_pool_t *pool, void (*func)(void *), void *arg, ws_group_t *group,
                         const ws_fiber_options_t *options)
{
  return stand_after(__real_ws_fiber_push(pool, func, arg, group, options), pool);
}
}

namespace {

/// @param begin  begins a step from one pool to the other, and returns what makes its result ready
template <typename Begin>
void is_outlived(Begin begin)
{
  target scene;
  gate go;
  ws::pool from(settings_of(1));
  auto into = std::make_unique<ws::pool>(settings_of(1));
  ws::future<int> result = begin(from, *into, go);
  held = &scene;
  scene.pool = into->native();
  go.let(1);
  CU_ASSERT_TRUE_FATAL(scene.door.await(1));
  go.let(1);
  CU_ASSERT_EQUAL(result.get(), 2);
  std::atomic<bool> is_destroyed{false};
  bool was_left = false;
  std::thread end([&] {
    into.reset();
    was_left = scene.left;
    is_destroyed = true;
  });
  const auto ended_or_waits = [](void *flag) {
    return static_cast<std::atomic<bool> *>(flag)->load() || test_others_sleep();
  };
  CU_ASSERT_TRUE(test_until(ended_or_waits, &is_destroyed));
  scene.door.let(1);
  end.join();
  CU_ASSERT_TRUE(was_left);
  held = nullptr;
}

void pushes_of_then()
{
  is_outlived([](ws::pool &from, ws::pool &into, gate &go) {
    return from
        .submit([&go] {
          go.stand();
          return 1;
        })
        .then(into, [](int one) { return one + 1; });
  });
}

template <typename Step>
ws::coroutine<int> hop(gate &go, Step step)
{
  go.stand();
  co_await step;
  co_return 2;
}

void pushes_of_hops()
{
  is_outlived([](ws::pool &from, ws::pool &into, gate &go) {
    return ws::start(from, hop(go, ws::on(into, ws::priority::high)));
  });
  is_outlived([](ws::pool &from, ws::pool &into, gate &go) {
    return ws::start(from, [](gate &door, ws::pool &to) -> ws::coroutine<int> {
      door.stand();
      co_await to;
      co_return 2;
    }(go, into));
  });
  is_outlived(
      [](ws::pool &from, ws::pool &into, gate &go) { return ws::start(from, hop(go, ws::on_fiber(into))); });
}

/// A fiber of the group's pool waits for the group, until a task of it is let go.
void pushes_of_waits_for_groups()
{
  is_outlived([](ws::pool &from, ws::pool &into, gate &go) {
    return ws::start(from, [](gate &door, ws::pool &to) -> ws::coroutine<int> {
      ws::group group;
      door.stand();
      held->pool = nullptr; // not this push, whose return the coroutine waits for
      group.run(to, [&door] { door.stand(); });
      held->pool = to.native();
      co_await group;
      co_return 2;
    }(go, into));
  });
}

} // namespace

TEST_SUITE(step, TEST_CASE(pushes_of_then), TEST_CASE(pushes_of_hops), TEST_CASE(pushes_of_waits_for_groups))
