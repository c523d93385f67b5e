// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_key.cpp
/// Cancels that return what they did: ws::key, and ws::future::cancel().
#include <functional>
#include <memory>
#include <vector>

#include "cxx_scene.hpp"

static void a_key_counts()
{
  held_pool scene(1);
  ws::key key;
  ws::group group;
  std::atomic<int> ran{0};
  CU_ASSERT_EQUAL(key.cancel(), 0);
  ws::future<int> first = scene.pool.submit([] { return 1; }, key);
  ws::future<int> other = scene.pool.submit([] { return 2; });
  for (int i = 0; i < 5; i++)
    group.run(
        scene.pool, [&ran] { ran++; }, key, ws::priority::high);
  CU_ASSERT_EQUAL(key.cancel(), 6);
  CU_ASSERT_EQUAL(key.cancel(), 0);
  group.run(
      scene.pool, [&ran] { ran += 10; }, key);
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { group.wait(); }));
  scene.let();
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { first.get(); }));
  CU_ASSERT_EQUAL(other.get(), 2);
  CU_ASSERT_EQUAL(ran.load(), 10);
  CU_ASSERT_EQUAL(key.cancel(), 0);
}

/// Tasks that have begun, were refused, aborted or cancelled by their future do not count.
static void a_key_counts_what_would_run()
{
  gate door;
  ws::key key;
  ws::pool pool(settings_of(1));
  ws::future<void> begun = pool.submit([&door] { door.stand(); }, key);
  CU_ASSERT_TRUE_FATAL(door.await(1));
  CU_ASSERT_EQUAL(key.cancel(), 0);
  ws::future<int> dropped = pool.submit([] { return 1; }, key);
  ws::future<int> kept = pool.submit([] { return 2; }, key);
  CU_ASSERT_TRUE(dropped.cancel());
  CU_ASSERT_EQUAL(key.cancel(), 1);
  ws::future<int> aborted = pool.submit([] { return 3; }, key);
  std::thread stopper([&] { pool.stop(WS_STOP_ABORT); });
  CU_ASSERT_TRUE(
      test_until([](void *of) { return static_cast<ws::pool *>(of)->try_push([] {}) < 0; }, &pool));
  door.let(1);
  stopper.join();
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { kept.get(); }));
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { aborted.get(); }));
  ws::future<int> refused = pool.submit([] { return 4; }, key);
  CU_ASSERT_TRUE(throws<std::system_error>([&] { refused.get(); }));
  CU_ASSERT_EQUAL(key.cancel(), 0);
  begun.get();
}

static void a_future_cancels_its_task()
{
  held_pool scene(1);
  auto owned = std::make_shared<int>(1);
  ws::future<void> future = scene.pool.submit([owned] { (*owned)++; });
  CU_ASSERT_EQUAL(owned.use_count(), 2);
  CU_ASSERT_TRUE(future.cancel());
  CU_ASSERT_EQUAL(owned.use_count(), 1); // the callable is gone
  CU_ASSERT_FALSE(future.cancel());
  CU_ASSERT_EQUAL(future.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { future.get(); }));
  CU_ASSERT_FALSE(future.cancel());
  ws::future<int> gone = scene.pool.submit([owned] { return (*owned)++; });
  CU_ASSERT_TRUE(gone.cancel());
  gone = ws::future<int>();
  CU_ASSERT_FALSE(gone.cancel());
  ws::future<int> runs = scene.pool.submit([owned] { return *owned; });
  scene.let();
  CU_ASSERT_EQUAL(runs.get(), 1);
  CU_ASSERT_FALSE(runs.cancel());
}

static void what_has_begun_goes_on()
{
  gate door;
  ws::pool pool(settings_of(1));
  ws::future<int> future = pool.submit([&door] {
    door.stand();
    return 5;
  });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  CU_ASSERT_FALSE(future.cancel());
  door.let(1);
  CU_ASSERT_EQUAL(future.get(), 5);
}

constexpr int JOBS = 5000;

/// Tasks begin and are cancelled at once: each runs, or is cancelled by one call.
static void all_at_once()
{
  ws::pool pool(settings_of(2));
  ws::key key;
  std::atomic<int> ran{0}, over{0};
  std::uint64_t by_key = 0, by_future = 0, skipped = 0;
  std::thread canceller([&] {
    while (!over)
      by_key += key.cancel();
  });
  std::vector<ws::future<void>> futures;
  for (int i = 0; i < JOBS; i++) {
    futures.push_back(pool.submit([&ran] { ran++; }, key));
    if (i % 3 == 0)
      by_future += futures[static_cast<std::size_t>(i - i % 16)].cancel() ? 1 : 0;
  }
  pool.wait();
  over = 1;
  canceller.join();
  for (ws::future<void> &future : futures)
    skipped += throws<ws::cancelled>([&future] { future.get(); }) ? 1 : 0;
  CU_ASSERT_EQUAL(ran + static_cast<int>(skipped), JOBS);
  CU_ASSERT_EQUAL(skipped, by_key + by_future);
}

TEST_SUITE(key, TEST_CASE(a_key_counts), TEST_CASE(a_key_counts_what_would_run),
           TEST_CASE(a_future_cancels_its_task), TEST_CASE(what_has_begun_goes_on), TEST_CASE(all_at_once))
