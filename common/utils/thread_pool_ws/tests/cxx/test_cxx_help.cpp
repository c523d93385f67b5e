// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_help.cpp
/// Waiting for futures inside tasks, also with one worker: the wait runs the awaited task wherever it is
/// queued, and no other.
#include <memory>

#include "cxx_scene.hpp"

static int fibonacci(ws::pool &pool, int n)
{
  if (n < 2)
    return n;
  ws::future<int> left = pool.submit([&pool, n] { return fibonacci(pool, n - 1); });
  ws::future<int> right = pool.submit([&pool, n] { return fibonacci(pool, n - 2); });
  return left.get() + right.get();
}

static void tasks_wait_for_their_tasks()
{
  for (std::uint32_t workers = 0; workers <= 3; workers++) {
    ws::pool pool(settings_of(workers));
    CU_ASSERT_EQUAL(pool.submit([&pool] { return fibonacci(pool, 12); }).get(), 144);
    CU_ASSERT_EQUAL(fibonacci(pool, 10), 55);
  }
}

/// A task returns the future of a task of its own.
static void future_of_a_future()
{
  ws::pool pool(settings_of(1));
  const int answer = pool.submit([&pool] {
                           ws::future<ws::future<int>> outer =
                               pool.submit([&pool] { return pool.submit([] { return 17; }); });
                           return outer.get().get();
                         })
                         .get();
  CU_ASSERT_EQUAL(answer, 17);
}

/// The second of two tasks waits for the first, which their common parent pushed.
static void tasks_wait_for_their_siblings()
{
  ws::pool pool(settings_of(1));
  const int answer = pool.submit([&pool] {
                           ws::future<int> first = pool.submit([] { return 18; });
                           return pool.submit([&first] { return first.get() + 1; }).get();
                         })
                         .get();
  CU_ASSERT_EQUAL(answer, 19);
}

/// The awaited task lies in the queue of another worker, which waits for this one: both workers would sleep
/// if a wait ran tasks of its own queue only.
static void awaited_task_of_another_queue()
{
  ws::pool pool(settings_of(2));
  gate door;
  const int answer = pool.submit([&pool, &door] {
                           ws::future<int> second;
                           ws::future<int> first = pool.submit([&second, &door] {
                             door.stand();
                             return second.get() + 1;
                           });
                           if (!door.await(1)) // the other worker runs it
                             return 0;
                           second = pool.submit([] { return 30; });
                           door.let(1);
                           return first.get();
                         })
                         .get();
  CU_ASSERT_EQUAL(answer, 31);
}

/// The one worker runs a task that waits for one that a thread outside has pushed.
static void awaited_task_of_a_thread_outside()
{
  held_pool scene(1);
  ws::future<int> second;
  ws::future<int> first = scene.pool.submit([&second] { return second.get() + 1; });
  second = scene.pool.submit([] { return 40; });
  scene.let();
  CU_ASSERT_EQUAL(first.get(), 41);
}

/// The queue still has a task that a wait has run: it ends there, also in an abort, and is not cancelled.
static void claimed_task_in_an_abort()
{
  ws::pool pool(settings_of(1));
  gate door;
  int value = 0;
  auto owned = std::make_shared<int>(50);
  pool.push([&] {
    ws::future<int> claimed = pool.submit([owned] { return *owned; });
    value = claimed.get();
    door.stand(); // its record is still queued
  });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  std::thread opener([&] {
    await_stop(pool);
    door.let(1);
  });
  CU_ASSERT_TRUE(pool.stop(WS_STOP_ABORT) >= 1);
  opener.join();
  CU_ASSERT_EQUAL(value, 50);
  CU_ASSERT_EQUAL(owned.use_count(), 1);
}

static void wait_runs_no_unrelated_task()
{
  ws::pool pool(settings_of(1));
  std::atomic<int> others{0};
  const int meanwhile = pool.submit([&] {
                              pool.push([&others] { others++; });
                              ws::future<int> wanted = pool.submit([] { return 1; });
                              pool.push([&others] { others++; });
                              pool.submit([&others] { others++; });
                              wanted.wait();
                              const int ran = others;
                              return ran + 10 * wanted.get();
                            })
                            .get();
  CU_ASSERT_EQUAL(meanwhile, 10); // the one worker is busy with this task
  pool.wait();
  CU_ASSERT_EQUAL(others, 3);
}

static void waits_for_hinted_tasks()
{
  ws::pool pool(settings_of(1));
  const int answer = pool.submit([&pool] {
                           ws::future<int> low = pool.submit([] { return 1; }, ws::priority::low);
                           ws::future<int> high = pool.submit([] { return 2; }, ws::priority::high);
                           ws::future<int> there = pool.submit([] { return 4; }, ws::node{0});
                           return low.get() + high.get() + there.get();
                         })
                         .get();
  CU_ASSERT_EQUAL(answer, 7);
}

/// A thread outside helps in pool::get(), with the task that it waits for.
static void thread_outside_helps()
{
  held_pool scene(1);
  std::atomic<int> others{0};
  scene.pool.push([&others] { others++; });
  ws::future<std::thread::id> wanted = scene.pool.submit([] { return std::this_thread::get_id(); });
  scene.pool.push([&others] { others++; });
  CU_ASSERT_TRUE(scene.pool.get(wanted) == std::this_thread::get_id());
  CU_ASSERT_EQUAL(others, 0);
  scene.let();
  scene.pool.wait();
  CU_ASSERT_EQUAL(others, 2);
}

/// The worker is let go when the waiting thread has had time to run the task itself.
static void thread_outside_leaves_tasks_to_workers()
{
  held_pool scene(1);
  ws::future<std::int32_t> index = scene.pool.submit([] { return ws_worker_index(); });
  std::thread opener([&scene] {
    test_sleep_ms(20);
    scene.let();
  });
  CU_ASSERT_EQUAL(index.get(), 0);
  opener.join();
}

/// Futures that do not know their task: another worker runs in the waiting one's place.
static void futures_without_a_task()
{
  ws::pool pool(settings_of(2));
  std::promise<int> elsewhere;
  std::shared_future<int> shared = elsewhere.get_future().share();
  ws::future<int> sum = pool.submit([&pool, shared] {
    std::future<int> converted = pool.submit([] { return 1; });
    std::future<int> deferred = std::async(std::launch::deferred, [] { return 4; });
    return pool.get(converted) + pool.get(shared) + pool.get(deferred);
  });
  elsewhere.set_value(2);
  CU_ASSERT_EQUAL(pool.get(std::move(sum)), 7);
}

static void future_without_a_state()
{
  ws::pool pool(settings_of(1));
  ws::future<int> none;
  CU_ASSERT_FALSE(none.valid());
  CU_ASSERT_TRUE(throws<std::future_error>([&] { none.get(); }));
  CU_ASSERT_TRUE(throws<std::future_error>([&] { pool.get(std::future<int>()); }));
}

/// A task of one pool waits for a task of another.
static void waits_across_pools()
{
  ws::pool one(settings_of(1)), two(settings_of(1));
  const int answer = one.submit([&two] { return two.submit([] { return 21; }).get(); }).get();
  CU_ASSERT_EQUAL(answer, 21);
}

TEST_SUITE(help, TEST_CASE(tasks_wait_for_their_tasks), TEST_CASE(future_of_a_future),
           TEST_CASE(tasks_wait_for_their_siblings), TEST_CASE(awaited_task_of_another_queue),
           TEST_CASE(awaited_task_of_a_thread_outside), TEST_CASE(claimed_task_in_an_abort),
           TEST_CASE(wait_runs_no_unrelated_task), TEST_CASE(waits_for_hinted_tasks),
           TEST_CASE(thread_outside_helps), TEST_CASE(thread_outside_leaves_tasks_to_workers),
           TEST_CASE(futures_without_a_task), TEST_CASE(future_without_a_state),
           TEST_CASE(waits_across_pools))
