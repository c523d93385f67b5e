// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_standard.cpp
/// A program of C++20 uses code of C++17 that takes its pool.
#include <stop_token>

#include "cxx_scene.hpp"

ws::future<std::uint32_t> use_17(ws::pool &pool, ws::group &group, ws::key &key, std::atomic<int> &count);

CASE(code_of_two_standards)
{
  held_pool scene(1);
  std::atomic<int> count{0};
  ws::key key;
  ws::group group;
  std::stop_source source;
  const auto cancelled = [&count] { count += 100; };
  group.run(scene.pool, cancelled, key);
  ws::future<int> stopped = scene.pool.submit([] { return 1; }, source.get_token());
  source.request_stop();
  ws::future<std::uint32_t> future = use_17(scene.pool, group, key, count);
  scene.let();
  CU_ASSERT_EQUAL(end_of([&] { group.wait(); }), SKIPPED);
  CU_ASSERT_EQUAL(end_of([&] { stopped.get(); }), SKIPPED);
  CU_ASSERT_EQUAL(future.get(), 1);
  CU_ASSERT_EQUAL(count.load(), 11);
}
