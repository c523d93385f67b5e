// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_future.cpp
/// pool::submit: results, exceptions, promises of the caller, hints, and tasks that do not run.
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "cxx_scene.hpp"

static void results()
{
  ws::pool pool(settings_of(2));
  int place = 3;
  CU_ASSERT_EQUAL(pool.submit([] { return 42; }).get(), 42);
  CU_ASSERT_TRUE(pool.submit([] { return std::string("text"); }).get() == "text");
  CU_ASSERT_EQUAL(*pool.submit([] { return std::make_unique<int>(5); }).get(), 5);
  pool.submit([&place]() -> int & { return place; }).get() = 4;
  CU_ASSERT_EQUAL(place, 4);
  pool.submit([&place] { place = 6; }).get();
  CU_ASSERT_EQUAL(place, 6);
}

static void callables_that_only_move()
{
  ws::pool pool(settings_of(2));
  auto owned = std::make_unique<int>(7);
  CU_ASSERT_EQUAL(pool.submit([owned = std::move(owned)] { return *owned; }).get(), 7);
  std::promise<int> answer;
  std::future<int> future = answer.get_future();
  pool.push([answer = std::move(answer)]() mutable { answer.set_value(8); });
  CU_ASSERT_EQUAL(future.get(), 8);
  ws::task task([owned = std::make_unique<int>(9)] { (*owned)++; });
  pool.submit(std::move(task)).get();
  const auto constant = [] { return 10; };
  CU_ASSERT_EQUAL(pool.submit(constant).get(), 10); // copied
}

static int triple(int number)
{
  return 3 * number;
}

struct counter {
  std::atomic<int> count{0}; // tasks add to it side by side
  int add(int more) { return count += more; }
};

/// Callables that could be called with a ws::context as well are plain tasks. The body of the lambda does not
/// compile with one.
static void callables_that_take_any_arguments()
{
  ws::pool pool(settings_of(1));
  CU_ASSERT_EQUAL(pool.submit(std::bind(triple, 3)).get(), 9);
  counter one;
  CU_ASSERT_EQUAL(pool.submit(std::bind(&counter::add, &one, 4), ws::stop_token()).get(), 4);
  const auto bound = std::bind(triple, 5);
  std::promise<int> promise;
  std::future<int> due = promise.get_future();
  pool.submit(bound, &promise);
  CU_ASSERT_EQUAL(due.get(), 15);
  const auto sum = [&one](auto &&...all) { return one.count = (0 + ... + all); };
  CU_ASSERT_EQUAL(pool.submit(sum).get(), 0);
  ws::group group;
  group.run(pool, std::bind(&counter::add, &one, 2));
  group.wait();
  pool.push(std::bind(&counter::add, &one, 1));
  CU_ASSERT_EQUAL(pool.try_push(ws::task(std::bind(&counter::add, &one, 3))), 0);
  pool.wait();
  CU_ASSERT_EQUAL(one.count.load(), 6);
}

static void exceptions()
{
  ws::pool pool(settings_of(2));
  CU_ASSERT_TRUE(throws<std::string>([&] { pool.submit([] { throw std::string("lost"); }).get(); }));
  ws::future<int> future = pool.submit([]() -> int { throw 5; });
  CU_ASSERT_TRUE(throws<int>([&] { future.get(); }));
}

/// A result whose move throws while it goes into the promise.
struct fragile {
  explicit fragile(int *left) : moves(left) {}
  fragile(fragile &&other) : moves(other.moves)
  {
    if (--*moves < 0)
      throw std::string("broken");
  }
  int *moves;
};

static void result_that_cannot_be_moved()
{
  if (CXX_TSAN) { // its pthread_once(), which std::promise uses, does not survive an exception
    std::printf("skipped: thread sanitizer\n");
    return;
  }
  ws::pool pool(settings_of(1));
  int moves = 1; // one into the outcome, none into the promise
  CU_ASSERT_TRUE(throws<std::string>([&] { pool.submit([&moves] { return fragile(&moves); }).get(); }));
}

static void callable_is_destroyed_before_the_future_is_ready()
{
  ws::pool pool(settings_of(1));
  for (int i = 0; i < 100; i++) {
    auto shared = std::make_shared<int>(i);
    ws::future<int> future = pool.submit([shared] { return *shared; });
    CU_ASSERT_EQUAL(future.get(), i);
    CU_ASSERT_EQUAL(shared.use_count(), 1);
  }
}

static void promise_of_the_caller()
{
  ws::pool pool(settings_of(2));
  std::promise<void> done;
  std::promise<std::string> text, failed;
  bool ran = false;
  pool.submit([&ran] { ran = true; }, &done);
  done.get_future().get();
  CU_ASSERT_TRUE(ran);
  pool.submit([] { return std::string("ours"); }, &text, ws::node{0});
  CU_ASSERT_TRUE(text.get_future().get() == "ours");
  pool.submit([]() -> std::string { throw 3; }, &failed);
  CU_ASSERT_TRUE(throws<int>([&] { failed.get_future().get(); }));
  std::promise<int> *none = nullptr;
  CU_ASSERT_EQUAL(error_of([&] { pool.submit([] { return 1; }, none); }), EINVAL);
}

/// The last task that this thread has pushed. The linker puts the second function in place of ws_pool_push().
static thread_local ws_task_t pushed;
extern "C" int __real_ws_pool_push(ws_pool_t *pool, ws_task_t task);
extern "C" int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task);
extern "C" int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task)
{
  pushed = task;
  return __real_ws_pool_push(pool, task);
}

static bool pushed_with(ws_priority_t priority, std::uint32_t node)
{
  return pushed.priority == priority && pushed.node == node;
}

static void hints_reach_the_task()
{
  ws::pool pool(settings_of(1));
  const auto body = [] { return ws_current_task()->priority; };
  CU_ASSERT_EQUAL(pool.submit(body).get(), WS_PRIORITY_NORMAL);
  CU_ASSERT_TRUE(pushed_with(WS_PRIORITY_NORMAL, WS_NODE_ANY));
  pool.submit(body, ws::node{2}).get();
  CU_ASSERT_TRUE(pushed_with(WS_PRIORITY_NORMAL, ws_node_hint(2)));
  CU_ASSERT_EQUAL(pool.submit(body, ws::priority::high).get(), WS_PRIORITY_HIGH);
  CU_ASSERT_EQUAL(pool.submit(body, ws::stop_token(), ws::priority::low).get(), WS_PRIORITY_LOW);
  std::promise<ws_priority_t> promise;
  pool.submit(body, &promise, ws::priority::low);
  CU_ASSERT_EQUAL(promise.get_future().get(), WS_PRIORITY_LOW);
  pool.push(body, ws::node{1});
  CU_ASSERT_TRUE(pushed_with(WS_PRIORITY_NORMAL, ws_node_hint(1)));
  ws::group group;
  group.run(pool, body, ws::priority::high);
  CU_ASSERT_TRUE(pushed_with(WS_PRIORITY_HIGH, WS_NODE_ANY));
  group.run(pool, body, ws::stop_token(), ws::node{-1}); // not known
  CU_ASSERT_TRUE(pushed_with(WS_PRIORITY_NORMAL, WS_NODE_ANY));
}

static void nodes_of_memory()
{
  const int here = 0;
  CU_ASSERT_TRUE(ws::node_of(&here).number < static_cast<int>(ws_node_count()));
}

static void stopped_pool_refuses()
{
  ws::pool pool(settings_of(1));
  CU_ASSERT_EQUAL(pool.stop(WS_STOP_DRAIN), 0);
  auto owned = std::make_shared<int>(1);
  std::promise<void> promise;
  ws::group group;
  ws::future<int> future = pool.submit([owned] { return *owned; });
  pool.submit([owned] {}, &promise);
  CU_ASSERT_EQUAL(error_of([&] { future.get(); }), ECANCELED);
  CU_ASSERT_EQUAL(error_of([&] { promise.get_future().get(); }), ECANCELED);
  CU_ASSERT_EQUAL(error_of([&] { pool.push([owned] {}); }), ECANCELED);
  CU_ASSERT_EQUAL(pool.try_push([owned] {}), -ECANCELED);
  CU_ASSERT_EQUAL(error_of([&] { group.run(pool, [owned] {}); }), ECANCELED);
  CU_ASSERT_TRUE(group.wait()); // not for the refused task
  CU_ASSERT_EQUAL(owned.use_count(), 1);
}

static void full_queue_refuses()
{
  ws_settings_t settings = settings_of(1);
  settings.queue_capacity = 4;
  settings.full = WS_FULL_FAIL;
  held_pool scene(1, settings);
  std::atomic<int> ran{0};
  int accepted = 0;
  while (scene.pool.try_push([&ran] { ran++; }) == 0)
    accepted++;
  ws::future<void> future = scene.pool.submit([&ran] { ran++; });
  CU_ASSERT_EQUAL(error_of([&] { future.get(); }), EAGAIN);
  CU_ASSERT_EQUAL(scene.pool.try_push([&ran] { ran++; }), -EAGAIN);
  scene.let();
  scene.pool.wait();
  CU_ASSERT_TRUE(accepted >= 4);
  CU_ASSERT_EQUAL(ran, accepted);
}

static void abort_cancels_what_is_queued()
{
  held_pool scene(1);
  std::atomic<int> ran{0};
  auto owned = std::make_shared<int>(1);
  std::promise<int> promise;
  ws::group group;
  ws::future<int> future = scene.pool.submit([&ran, owned] { return ran++; });
  scene.pool.submit([&ran, owned] { return ran++; }, &promise);
  scene.pool.push([&ran, owned] { ran++; });
  group.run(scene.pool, [&ran, owned] { ran++; });
  std::thread opener([&scene] {
    await_stop(scene.pool);
    scene.let();
  });
  CU_ASSERT_TRUE(scene.pool.stop(WS_STOP_ABORT) >= 4);
  opener.join();
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { future.get(); }));
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { promise.get_future().get(); }));
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { group.wait(); }));
  CU_ASSERT_EQUAL(ran, 0);
  CU_ASSERT_EQUAL(owned.use_count(), 1);
}

TEST_SUITE(future, TEST_CASE(results), TEST_CASE(callables_that_only_move),
           TEST_CASE(callables_that_take_any_arguments), TEST_CASE(exceptions),
           TEST_CASE(result_that_cannot_be_moved),
           TEST_CASE(callable_is_destroyed_before_the_future_is_ready), TEST_CASE(promise_of_the_caller),
           TEST_CASE(hints_reach_the_task), TEST_CASE(nodes_of_memory), TEST_CASE(stopped_pool_refuses),
           TEST_CASE(full_queue_refuses), TEST_CASE(abort_cancels_what_is_queued))
