// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_future.cpp
/// ws::future: results, exceptions, the life of callables, and waits, which help inside tasks.

#include "cxx_scene.hpp"

static_assert(!std::is_copy_constructible_v<ws::future<int>>);

constexpr auto ready = std::future_status::ready;
constexpr auto timeout = std::future_status::timeout;

POOL_CASE(results, 2)
{
  int place = 3;
  CU_ASSERT_EQUAL(pool.submit([] { return std::string("text"); }).get(), "text");
  CU_ASSERT_EQUAL(*pool.submit([] { return std::make_unique<int>(5); }).get(), 5);
  pool.submit([&place]() -> int & { return place; }).get() = 4;
  CU_ASSERT_EQUAL(place, 4);
  CU_ASSERT_TRUE(throws<std::string>([&] { pool.submit([] { throw std::string("lost"); }).get(); }));
  CU_ASSERT_TRUE(throws<int>([&] { pool.submit([]() -> int { throw 5; }).get(); }));
  std::promise<std::string> text, failed;
  pool.submit([] { return std::string("ours"); }, &text);
  CU_ASSERT_EQUAL(text.get_future().get(), "ours");
  pool.submit([]() -> std::string { throw 3; }, &failed);
  CU_ASSERT_TRUE(throws<int>([&] { failed.get_future().get(); }));
  std::promise<int> *none = nullptr;
  CU_ASSERT_EQUAL(end_of([&] { pool.submit([] { return 1; }, none); }), EINVAL);
}

struct counter {
  std::atomic<int> count{0}; // tasks add to it side by side
  int add(int more) { return count += more; }
};

/// Callables that only move, that are copied, and that could be called with a ws::context as well: these are
/// plain tasks. The body of the generic lambda does not compile with one.
POOL_CASE(callables, 1)
{
  CU_ASSERT_EQUAL(pool.submit([owned = std::make_unique<int>(7)] { return *owned; }).get(), 7);
  counter one;
  ws::group group;
  std::promise<int> promise;
  const auto bound = std::bind(&counter::add, &one, 5);
  const auto sum = [&one](auto &&...all) { return one.count = (0 + ... + all); };
  CU_ASSERT_EQUAL(pool.submit(bound, ws::stop_token()).get(), 5); // copied
  pool.submit(bound, &promise);
  CU_ASSERT_EQUAL(promise.get_future().get(), 10);
  CU_ASSERT_EQUAL(pool.submit(sum).get(), 0);
  group.run(pool, bound);
  pool.push(bound);
  CU_ASSERT_EQUAL(pool.try_push(ws::task(bound)), 0);
  pool.wait();
  CU_ASSERT_EQUAL(one.count.load(), 15);
}

/// A callable whose copy throws: nothing is pushed, and no group waits for it. A result that does goes on.
POOL_CASE(copies_and_moves_that_throw, 1)
{
  ws::group group;
  const auto callable = [of = watched()] {};
  const auto is_thrown = [](int in, auto call) {
    watched::throws_in = in;
    return throws<std::range_error>(call);
  };
  CU_ASSERT_TRUE(is_thrown(1, [&] { group.run(pool, callable); }));
  CU_ASSERT_TRUE(is_thrown(1, [&] { pool.submit(callable); }));
  CU_ASSERT_TRUE(is_thrown(1, [&] { pool.push(callable); }));
  CU_ASSERT_TRUE(group.wait());
  if (!TEST_SANITIZED) // thread sanitizer's pthread_once(), in std::promise, does not survive an exception
    CU_ASSERT_TRUE(is_thrown(2, [&] { pool.submit([] { return watched(); }).get(); })); // into the promise
}

/// The future goes before its task begins, and after it has ended.
CASE(a_future_may_be_dropped)
{
  std::atomic<int> ran{0};
  auto owned = std::make_shared<int>(1);
  {
    held_pool scene(1);
    scene.pool.submit([&ran, owned] { ran++; });
    ws::future<void> kept = scene.pool.submit([&ran, owned] { ran++; });
    scene.let();
    scene.pool.wait();
    kept = ws::future<void>();
  }
  CU_ASSERT_EQUAL(ran, 2);
  CU_ASSERT_EQUAL(owned.use_count(), 1);
}

static int fibonacci(ws::pool &pool, int n)
{
  if (n < 2)
    return n;
  ws::future<int> left = pool.submit([&pool, n] { return fibonacci(pool, n - 1); });
  ws::future<int> right = pool.submit([&pool, n] { return fibonacci(pool, n - 2); });
  return left.get() + right.get();
}

/// Awaited tasks lie with the caller, in the queue of their priority, and in that of a thread outside.
CASE(tasks_wait_for_tasks)
{
  for (std::uint32_t workers = 0; workers <= 2; workers++) {
    ws::pool pool(settings_of(workers));
    CU_ASSERT_EQUAL(pool.submit([&pool] { return fibonacci(pool, 10); }).get(), 55);
  }
  held_pool scene(1);
  ws::future<int> outside;
  ws::future<int> sum = scene.pool.submit([&] {
    ws::future<int> low = scene.pool.submit([] { return 1; }, ws::priority::low);
    return low.get() + outside.get();
  });
  outside = scene.pool.submit([] { return 40; });
  scene.let();
  CU_ASSERT_EQUAL(sum.get(), 41);
}

/// The queue still has a task that a wait has run: it ends there, also in an abort, and is not cancelled.
CASE(claimed_task_in_an_abort)
{
  held_pool scene(1);
  int value = 0;
  auto owned = std::make_shared<int>(50);
  scene.pool.push([&] {
    ws::future<int> claimed = scene.pool.submit([owned] { return *owned; });
    value = claimed.get();
    scene.door.stand(); // its record is still queued
  });
  scene.let();
  CU_ASSERT_TRUE_FATAL(scene.door.await(1));
  scene.held = 1;
  CU_ASSERT_TRUE(scene.abort() >= 1);
  CU_ASSERT_EQUAL(value, 50);
  CU_ASSERT_EQUAL(owned.use_count(), 1);
}

/// The one worker is busy with a task that waits: get(), and with limits. If the time is over, it runs no
/// task.
POOL_CASE(a_wait_in_a_task_runs_no_other, 1)
{
  std::atomic<int> others{0}; // of the worker, and of the wait for the pool
  const int answer = pool.submit([&] {
                           pool.push([&others] { others++; });
                           ws::future<int> first = pool.submit([] { return 4; });
                           ws::future<int> second = pool.submit([] { return 5; });
                           pool.submit([&others] { others++; });
                           const bool looked =
                               first.wait_for(0s) == timeout && second.wait_for(-1h) == timeout;
                           const bool waited = first.wait_for(1h) == ready && first.wait_for(0s) == ready;
                           const int sum = first.get() + second.get();
                           return looked && waited && others == 0 ? sum : 0;
                         })
                         .get();
  CU_ASSERT_EQUAL(answer, 9);
  pool.wait();
  CU_ASSERT_EQUAL(others, 2);
}

/// pool::get() runs the task that it waits for, and no other.
CASE(a_thread_outside_helps_in_get)
{
  std::atomic<int> others{0};
  held_pool scene(1);
  scene.pool.push([&others] { others++; });
  ws::future<std::thread::id> wanted = scene.pool.submit([] { return std::this_thread::get_id(); });
  CU_ASSERT_TRUE(scene.pool.get(wanted) == std::this_thread::get_id());
  CU_ASSERT_EQUAL(others, 0);
}

/// The worker is let go when all threads sleep, the waiting one as well.
CASE(a_thread_outside_leaves_tasks_to_workers)
{
  held_pool scene(1);
  ws::future<std::int32_t> index = scene.pool.submit([] { return ws_worker_index(); });
  std::thread opener([&scene] {
    test_until([](void *) { return test_others_sleep(); }, nullptr);
    scene.let();
  });
  CU_ASSERT_EQUAL(index.get(), 0);
  opener.join();
}

CASE(future_waits_have_limits)
{
  held_pool scene(1);
  ws::future<int> future = scene.pool.submit([] { return 3; });
  const auto wait = TIMED(future.wait, limit);
  const auto is_ready = [&](auto limit) { return wait(limit) == ready; };
  CU_ASSERT_TRUE(ends_at_limits(is_ready));
  scene.let();
  CU_ASSERT_TRUE(ends_within_limits(is_ready));
  CU_ASSERT_EQUAL(future.wait_for(0s), ready);
  CU_ASSERT_EQUAL(future.get(), 3);
  CU_ASSERT_TRUE(throws<std::future_error>([&] { future.wait_for(1h); }));
}

/// Futures that do not know their task: another worker runs in the waiting one's place.
POOL_CASE(futures_without_a_task, 2)
{
  std::promise<int> elsewhere;
  std::shared_future<int> shared = elsewhere.get_future().share();
  ws::future<int> sum = pool.submit([&pool, shared] {
    std::future<int> converted = pool.submit([] { return 1; });
    std::future<int> deferred = std::async(std::launch::deferred, [] { return 4; });
    return pool.get(converted) + pool.get(shared) + pool.get(deferred);
  });
  elsewhere.set_value(2);
  CU_ASSERT_EQUAL(pool.get(std::move(sum)), 7);
  ws::future<int> none;
  CU_ASSERT_FALSE(none.valid());
  CU_ASSERT_TRUE(throws<std::future_error>([&] { none.get(); }));
  CU_ASSERT_TRUE(throws<std::future_error>([&] { pool.get(std::future<int>()); }));
}
