// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_plain.cpp
/// The headers in a program without exceptions and without run-time types: what a function cannot return ends
/// the process, with a message.
#include <csignal>
#include <functional>

#include "cxx_scene.hpp"

static_assert(!WS_EXCEPTIONS, "this program is built with -fno-exceptions");

static void tasks_run()
{
  ws::pool pool(settings_of(2));
  std::atomic<int> ran{0};
  std::promise<int> promise;
  CU_ASSERT_EQUAL(pool.submit([] { return 5; }).get(), 5);
  pool.submit([] { return 6; }, &promise);
  CU_ASSERT_EQUAL(promise.get_future().get(), 6);
  ws::group group;
  group.run(pool, [&ran] { ran++; });
  CU_ASSERT_TRUE(group.wait());
  ws::parallel_for(pool, 0, 100, [&ran](int) { ran++; });
  CU_ASSERT_EQUAL(ran, 101);
  const int sum = ws::parallel_reduce(
      pool, 0, 100, 0, [](int i) { return i; }, std::plus<>());
  CU_ASSERT_EQUAL(sum, 4950);
}

static void skipped_tasks_are_returned()
{
  held_pool scene(1);
  ws::stop_source source;
  ws::group group;
  std::atomic<int> ran{0};
  group.run(
      scene.pool, [&ran] { ran++; }, source.get_token());
  source.request_stop();
  CU_ASSERT_FALSE(group.wait());
  CU_ASSERT_FALSE(ws::parallel_for(
      scene.pool, 0, 9, [&ran](int) { ran++; }, source.get_token()));
  CU_ASSERT_EQUAL(ran, 0);
}

/// The wait with a limit leaves the answer to wait().
static void skipped_tasks_are_returned_after_a_limit()
{
  held_pool scene(1);
  ws::stop_source source;
  ws::group group;
  group.run(
      scene.pool, [] {}, source.get_token());
  source.request_stop();
  CU_ASSERT_TRUE(group.wait_for(std::chrono::hours(1)));
  CU_ASSERT_FALSE(group.wait());
  CU_ASSERT_TRUE(group.wait());
}

static void refused_pushes_are_returned()
{
  ws::pool pool(settings_of(1));
  pool.stop(WS_STOP_DRAIN);
  CU_ASSERT_EQUAL(pool.try_push([] {}), -ECANCELED);
}

static int create_badly(void *)
{
  ws::pool pool(1000000u);
  return 0;
}

static int push_to_a_stopped_pool(void *)
{
  ws::pool pool(settings_of(1));
  pool.stop(WS_STOP_DRAIN);
  pool.push([] {});
  return 0;
}

static int submit_to_a_stopped_pool(void *)
{
  ws::pool pool(settings_of(1));
  pool.stop(WS_STOP_DRAIN);
  pool.submit([] {});
  return 0;
}

static void errors_end_the_process()
{
  CU_ASSERT_EQUAL(test_in_child(create_badly, nullptr), 128 + SIGABRT);
  CU_ASSERT_EQUAL(test_in_child(push_to_a_stopped_pool, nullptr), 128 + SIGABRT);
  CU_ASSERT_EQUAL(test_in_child(submit_to_a_stopped_pool, nullptr), 128 + SIGABRT);
}

TEST_MAIN("cxx_plain", TEST_CASE(errors_end_the_process), TEST_CASE(tasks_run),
          TEST_CASE(skipped_tasks_are_returned), TEST_CASE(skipped_tasks_are_returned_after_a_limit),
          TEST_CASE(refused_pushes_are_returned))
