// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_until.cpp
/// Waits with a time limit: for groups, pools and futures, outside and inside tasks.
#include "cxx_scene.hpp"

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr auto ready = std::future_status::ready;
constexpr auto timeout = std::future_status::timeout;

static void groups()
{
  gate door;
  ws::pool pool(settings_of(1));
  ws::group group;
  CU_ASSERT_TRUE(group.wait_for(0s)); // without a task
  group.run(pool, [&door] { door.stand(); });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  CU_ASSERT_FALSE(group.wait_for(1ms));
  CU_ASSERT_FALSE(group.wait_for(-1h));
  CU_ASSERT_FALSE(group.wait_until(steady_clock::now() + 1ms));
  CU_ASSERT_FALSE(group.wait_until(system_clock::now() + 1ms));
  CU_ASSERT_FALSE(group.wait_until(steady_clock::time_point::min()));
  CU_ASSERT_FALSE(group.wait_until(system_clock::time_point::min()));
  door.let(1);
  CU_ASSERT_TRUE(group.wait_for(1h));
  CU_ASSERT_TRUE(group.wait_until(system_clock::time_point::min()));
}

static void long_times()
{
  ws::pool pool(settings_of(1));
  ws::group group;
  const auto run = [&] { group.run(pool, [] {}); };
  run();
  CU_ASSERT_TRUE(group.wait_for(std::chrono::hours::max()));
  run();
  CU_ASSERT_TRUE(group.wait_for(std::chrono::duration<double>::max()));
  run();
  CU_ASSERT_TRUE(group.wait_until(steady_clock::time_point::max()));
  run();
  CU_ASSERT_TRUE(group.wait_until(system_clock::time_point::max()));
  ws::future<void> future = pool.submit([] {});
  CU_ASSERT_EQUAL(future.wait_for(std::chrono::hours::max()), ready);
  CU_ASSERT_TRUE(pool.wait_until(steady_clock::time_point::max()));
}

/// What a group's tasks threw is thrown when all have ended, not before.
static void exceptions_in_time()
{
  gate door;
  ws::pool pool(settings_of(1));
  ws::group group;
  group.run(pool, [&door] {
    door.stand();
    throw 5;
  });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  CU_ASSERT_FALSE(group.wait_for(1us));
  door.let(1);
  CU_ASSERT_TRUE(throws<int>([&] { group.wait_for(1h); }));
  CU_ASSERT_TRUE(group.wait_for(0s));
}

static void pools()
{
  held_pool held(1);
  int result = 0;
  CU_ASSERT_FALSE(held.pool.wait_for(1ms));
  CU_ASSERT_FALSE(held.pool.wait_until(system_clock::now() + 1ms));
  held.pool.push([&] {
    const bool refused = throws<std::system_error>([&] { held.pool.wait_for(1h); });
    result = refused ? 1 : 2;
  });
  held.let();
  CU_ASSERT_TRUE(held.pool.wait_for(1h));
  CU_ASSERT_EQUAL(result, 1);
}

static void futures_outside()
{
  held_pool held(1);
  ws::future<int> future = held.pool.submit([] { return 3; });
  CU_ASSERT_EQUAL(future.wait_for(1ms), timeout);
  CU_ASSERT_EQUAL(future.wait_until(system_clock::now() + 1ms), timeout);
  CU_ASSERT_EQUAL(future.wait_for(0s), timeout);
  held.let();
  CU_ASSERT_EQUAL(future.wait_for(1h), ready);
  CU_ASSERT_EQUAL(future.wait_for(0s), ready);
  CU_ASSERT_EQUAL(future.get(), 3);
  CU_ASSERT_TRUE(throws<std::future_error>([&] { future.wait_for(1h); }));
}

/// The only worker waits for a task that no other thread can run.
static void futures_in_a_task()
{
  bool other = false; // its task may run as late as in the wait for the pool
  ws::pool pool(settings_of(1));
  const int answer = pool.submit([&pool, &other] {
                           ws::future<int> future = pool.submit([] { return 4; });
                           pool.push([&other] { other = true; });
                           const bool looked = future.wait_for(0s) == timeout;
                           const bool waited = future.wait_for(1h) == ready;
                           const bool alone = !other;
                           pool.submit([] {}).wait();
                           return looked && waited && alone ? future.get() : 0;
                         })
                         .get();
  pool.wait();
  CU_ASSERT_EQUAL(answer, 4);
}

/// Another worker has begun the task.
static void begun_elsewhere()
{
  gate door;
  ws::pool pool(settings_of(2));
  ws::future<int> held = pool.submit([&door] {
    door.stand();
    return 6;
  });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  const bool late = pool.submit([&held] { return held.wait_for(1ms) == timeout; }).get();
  CU_ASSERT_TRUE(late);
  door.let(1);
  CU_ASSERT_EQUAL(held.get(), 6);
}

TEST_SUITE(until, TEST_CASE(groups), TEST_CASE(long_times), TEST_CASE(exceptions_in_time), TEST_CASE(pools),
           TEST_CASE(futures_outside), TEST_CASE(futures_in_a_task), TEST_CASE(begun_elsewhere))
