// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_group.cpp
/// ws::group: exceptions, skipped tasks, limits, and the destructor.
#include "cxx_scene.hpp"

static_assert(!std::is_move_constructible_v<ws::group>);

/// The waiting thread runs the tasks. A group can be used again: what it reports it reports once.
CASE(wait_helps_and_throws)
{
  held_pool scene(1);
  ws::stop_source source;
  ws::group group;
  std::atomic<int> ran{0};
  CU_ASSERT_TRUE(group.wait()); // without tasks
  for (int i = 0; i < 20; i++)
    group.run(scene.pool, [&ran, i] {
      ran++;
      if (i % 2 == 0)
        throw std::string("of a task");
      return i; // ignored
    });
  CU_ASSERT_TRUE(throws<std::string>([&] { group.wait(); }));
  CU_ASSERT_EQUAL(ran, 20);
  source.request_stop();
  const auto count = [&ran] { ran++; };
  const auto run = [&] {
    group.run(scene.pool, count);
    group.run(scene.pool, count, source.get_token());
  };
  run();
  CU_ASSERT_EQUAL(end_of([&] { group.wait(); }), SKIPPED);
  CU_ASSERT_TRUE(group.wait());
  run();
  group.run(scene.pool, [] { throw 1; });
  CU_ASSERT_TRUE(throws<int>([&] { group.wait(); })); // an exception goes before it
  CU_ASSERT_EQUAL(ran, 22);
}

/// What a group's tasks threw is thrown when all have ended, not before.
CASE(group_waits_have_limits)
{
  gate door;
  ws::pool pool(settings_of(1));
  ws::group group;
  CU_ASSERT_TRUE(group.wait_for(0s));
  group.run(pool, [&door] {
    door.stand();
    throw 5;
  });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  CU_ASSERT_TRUE(ends_at_limits(TIMED(group.wait, limit)));
  door.let(1);
  CU_ASSERT_TRUE(throws<int>([&] { group.wait_for(1h); }));
  const auto wait = TIMED(group.wait, limit);
  CU_ASSERT_TRUE(ends_within_limits([&](auto limit) {
    group.run(pool, [] {});
    return wait(limit);
  }));
  CU_ASSERT_TRUE(group.wait_until(system_clock::time_point::min())); // complete
}

POOL_CASE(destructor_waits, 2)
{
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
  CU_ASSERT_TRUE(throws<int>([&pool] { // the exception of the task is dropped beside another
    ws::group group;
    group.run(pool, [] { throw std::string("of a task"); });
    throw 1;
  }));
}

CASE(group_outlives_its_pool)
{
  ws::group group;
  group.run(*std::make_unique<ws::pool>(settings_of(2)), [] { throw 1; });
  CU_ASSERT_TRUE(throws<int>([&] { group.wait(); }));
}
