// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_group.cpp
/// ws::group: joins, nested joins with one worker, exceptions, and the destructor.
#include <csignal>
#include <string>

#include "cxx_scene.hpp"

static void wait_returns_after_all_tasks()
{
  ws::pool pool(settings_of(2));
  ws::group group;
  std::atomic<int> ran{0};
  for (int round = 1; round <= 3; round++) { // a group can be used again
    for (int i = 0; i < 500; i++)
      group.run(pool, [&ran] { ran++; });
    CU_ASSERT_TRUE(group.wait());
    CU_ASSERT_EQUAL(ran, 500 * round);
  }
  ws::group().wait(); // without tasks
}

static int leaves(ws::pool &pool, int depth)
{
  if (depth == 0)
    return 1;
  int left = 0, right = 0;
  ws::group group;
  group.run(pool, [&] { left = leaves(pool, depth - 1); });
  group.run(pool, [&] { right = leaves(pool, depth - 1); });
  group.wait();
  return left + right;
}

static void nested_groups()
{
  for (std::uint32_t workers = 0; workers <= 3; workers++) {
    ws::pool pool(settings_of(workers));
    CU_ASSERT_EQUAL(leaves(pool, 8), 256);
    CU_ASSERT_EQUAL(pool.submit([&pool] { return leaves(pool, 8); }).get(), 256);
  }
}

/// Tasks of a group add tasks to it while a thread waits.
static void grow(ws::pool &pool, ws::group &group, std::atomic<int> &ran, int depth)
{
  ran++;
  for (int i = 0; i < 2 && depth > 0; i++)
    group.run(pool, [&, depth] { grow(pool, group, ran, depth - 1); });
}

static void tasks_add_to_their_group()
{
  ws::pool pool(settings_of(2));
  ws::group group;
  std::atomic<int> ran{0};
  group.run(pool, [&] { grow(pool, group, ran, 7); });
  group.wait();
  CU_ASSERT_EQUAL(ran, 255);
}

static void first_exception_is_thrown()
{
  held_pool scene(1);
  ws::group group;
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; i++)
    group.run(scene.pool, [&ran, i] {
      ran++;
      if (i % 2 == 0)
        throw std::string("of a task");
    });
  CU_ASSERT_TRUE(throws<std::string>([&] { group.wait(); })); // this thread runs them
  CU_ASSERT_EQUAL(ran, 20);
  group.run(scene.pool, [&ran] { ran++; });
  CU_ASSERT_TRUE(group.wait()); // the exception is thrown once
}

static void destructor_waits()
{
  ws::pool pool(settings_of(2));
  gate door;
  std::atomic<int> ran{0};
  std::thread opener([&door] {
    if (door.await(2))
      door.let(2);
  });
  {
    ws::group group;
    for (int i = 0; i < 2; i++)
      group.run(pool, [&] {
        door.stand();
        ran++;
      });
  }
  CU_ASSERT_EQUAL(ran, 2);
  opener.join();
}

static void group_outlives_its_pool()
{
  std::atomic<int> ran{0};
  ws::group group, failed;
  {
    ws::pool pool(settings_of(2));
    group.run(pool, [&ran] { ran++; });
    failed.run(pool, [] { throw 1; });
  }
  CU_ASSERT_EQUAL(ran, 1);
  CU_ASSERT_TRUE(throws<int>([&] { failed.wait(); }));
}

static void destructor_drops_an_exception_beside_another()
{
  ws::pool pool(settings_of(2));
  CU_ASSERT_TRUE(throws<int>([&pool] {
    ws::group group;
    group.run(pool, [] { throw std::string("of a task"); });
    throw 1;
  }));
}

static int lose_an_exception(void *)
{
  ws::pool pool(settings_of(1));
  ws::group group;
  group.run(pool, [] { throw std::string("lost"); });
  return 0;
}

static int throw_from_a_pushed_task(void *)
{
  ws::pool pool(settings_of(1));
  pool.push([] { throw std::string("lost"); });
  pool.wait();
  return 0;
}

static void lost_exceptions_end_the_process()
{
  CU_ASSERT_EQUAL(test_in_child(lose_an_exception, nullptr), 128 + SIGABRT);
  CU_ASSERT_EQUAL(test_in_child(throw_from_a_pushed_task, nullptr), 128 + SIGABRT);
}

/// A callable whose copy throws: run() throws, and the group does not wait for a task that was not pushed.
struct uncopied {
  uncopied() = default;
  uncopied(const uncopied &) { throw 1; }
  void operator()() {}
};

static void callable_that_cannot_be_copied()
{
  ws::pool pool(settings_of(1));
  ws::group group;
  const uncopied callable;
  CU_ASSERT_TRUE(throws<int>([&] { group.run(pool, callable); }));
  CU_ASSERT_TRUE(throws<int>([&] { pool.submit(callable); }));
  CU_ASSERT_TRUE(throws<int>([&] { pool.push(callable); }));
  CU_ASSERT_TRUE(group.wait());
}

TEST_SUITE(group, TEST_CASE(lost_exceptions_end_the_process), TEST_CASE(wait_returns_after_all_tasks),
           TEST_CASE(nested_groups), TEST_CASE(tasks_add_to_their_group),
           TEST_CASE(first_exception_is_thrown), TEST_CASE(destructor_waits),
           TEST_CASE(group_outlives_its_pool), TEST_CASE(destructor_drops_an_exception_beside_another),
           TEST_CASE(callable_that_cannot_be_copied))
