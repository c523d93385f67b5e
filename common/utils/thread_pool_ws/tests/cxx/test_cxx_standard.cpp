// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_standard.cpp
/// A program of C++20 uses code of C++17 that takes its pool.
#include "cxx_scene.hpp"
#include "cxx_standard.hpp"

static void code_of_two_standards()
{
  CU_ASSERT_TRUE(standard_17() < __cplusplus);
  held_pool scene(1);
  std::atomic<int> count{0};
  ws::key key;
  ws::group group;
  std::stop_source source;
  group.run(
      scene.pool, [&count] { count += 100; }, key);
  CU_ASSERT_EQUAL(cancel_17(key), 1);
  ws::future<int> stopped = scene.pool.submit([] { return 1; }, source.get_token());
  source.request_stop();
  ws::future<int> future = submit_17(scene.pool, 4);
  scene.let();
  run_17(scene.pool, group, count);
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { group.wait(); }));
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { stopped.get(); }));
  CU_ASSERT_EQUAL(future.get(), 5);
  CU_ASSERT_EQUAL(count.load(), 11);
}

static void default_pool()
{
  ws::pool pool;
  CU_ASSERT_EQUAL(pool.submit([] { return 7; }).get(), 7);
}

TEST_SUITE(standard, TEST_CASE(code_of_two_standards), TEST_CASE(default_pool))
