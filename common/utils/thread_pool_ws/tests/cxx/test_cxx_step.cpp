// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_step.cpp
/// Steps from one pool to another: the other pool may be destroyed when the result is there, while the step's
/// push has not returned. So each push is made while its thread holds the pool: test_destroy.c has what that
/// does. Linked with --wrap=ws_pool_push, ws_pool_hold and ws_pool_release.
#include "../../include/ws_coroutine.hpp"
#include "cxx_scene.hpp"

static std::atomic<ws_pool_t *> target{nullptr};
static std::atomic<int> all_holds{0}, other_pushes{0};
static thread_local int holds = 0; ///< of the target

extern "C" {
TEST_WRAP(int, ws_pool_push, (ws_pool_t * pool, ws_task_t task))
{
  other_pushes += pool == target && holds == 0;
  return __real_ws_pool_push(pool, task);
}

TEST_WRAP(void, ws_pool_hold, (ws_pool_t * pool))
{
  holds += pool == target;
  all_holds += pool == target;
  __real_ws_pool_hold(pool);
}

TEST_WRAP(void, ws_pool_release, (ws_pool_t * pool))
{
  holds -= pool == target;
  __real_ws_pool_release(pool);
}
}

/// @param begin  begins one step from one pool to the other, which makes 2 of it
template <typename Begin>
static void is_held(Begin begin)
{
  ws::pool from(settings_of(1)), into(settings_of(1));
  all_holds = other_pushes = 0;
  target = into.native();
  CU_ASSERT_EQUAL(begin(from, into).get(), 2);
  target = nullptr;
  CU_ASSERT_EQUAL(all_holds, 1);
  CU_ASSERT_EQUAL(other_pushes, 0);
}

template <typename Step>
static ws::coroutine<int> hop(Step step)
{
  co_await step;
  co_return 2;
}
static ws::coroutine<int> hop_plainly(ws::pool &into)
{
  co_await into;
  co_return 2;
}

static ws::coroutine<int> wait_for_group(ws::pool &into, gate &door)
{
  ws::group group;
  target = nullptr; // not this push, whose return the coroutine waits for
  group.run(into, [&door] { door.stand(); });
  target = into.native();
  co_await group;
  co_return 2;
}

CASE(pushes_of_steps)
{
  is_held([](ws::pool &from, ws::pool &into) {
    return from.submit([] { return 1; }).then(into, [](int one) { return one + 1; });
  });
  is_held(
      [](ws::pool &from, ws::pool &into) { return ws::start(from, hop(ws::on(into, ws::priority::high))); });
  is_held([](ws::pool &from, ws::pool &into) { return ws::start(from, hop(ws::on_fiber(into))); });
  is_held([](ws::pool &from, ws::pool &into) { return ws::start(from, hop_plainly(into)); });
  gate door;
  is_held([&door](ws::pool &from, ws::pool &into) {
    ws::future<int> result = ws::start(from, wait_for_group(into, door));
    while (all_holds == 0)
      std::this_thread::yield();
    door.let(1);
    return result;
  });
}
