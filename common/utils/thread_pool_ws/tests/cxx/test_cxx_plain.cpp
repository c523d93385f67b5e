// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_plain.cpp
/// The headers in a program without exceptions, run-time types and fibers: what a function cannot return ends
/// the process, with a message.

#include "cxx_scene.hpp"

static_assert(!WS_EXCEPTIONS, "this program is built with -fno-exceptions");

POOL_CASE(tasks_run, 2)
{
  std::atomic<int> ran{0};
  std::promise<int> promise;
  ws::promise<int> own;
  ws::group group;
  pool.submit([] { return 6; }, &promise);
  CU_ASSERT_EQUAL(promise.get_future().get(), 6);
  own.set_value(7);
  CU_ASSERT_EQUAL(own.get_future().then(pool, [](int value) { return value + 1; }).get(), 8);
  group.run(pool, [&ran] { ran++; });
  CU_ASSERT_TRUE(group.wait());
  ws::parallel_for(pool, 0, 100, [&ran](int) { ran++; });
  CU_ASSERT_EQUAL(ran, 101);
  const auto same = [](int i) { return i; };
  CU_ASSERT_EQUAL(ws::parallel_reduce(pool, 0, 100, 0, same, std::plus<>()), 4950);
}

/// Also after a wait with a limit, which leaves the answer to wait().
CASE(what_does_not_run_is_returned)
{
  held_pool scene(1);
  ws::stop_source source;
  ws::group group;
  std::atomic<int> ran{0};
  const auto run = [&ran] { ran++; };
  source.request_stop();
  group.run(scene.pool, run, source.get_token());
  CU_ASSERT_FALSE(group.wait());
  group.run(scene.pool, run, source.get_token());
  CU_ASSERT_TRUE(group.wait_for(1h));
  CU_ASSERT_FALSE(group.wait());
  CU_ASSERT_TRUE(group.wait());
  const auto count = [&ran](int) { ran++; };
  CU_ASSERT_FALSE(ws::parallel_for(scene.pool, 0, 9, count, source.get_token()));
  scene.let();
  scene.pool.stop(WS_STOP_DRAIN);
  CU_ASSERT_EQUAL(scene.pool.try_push(run), -ECANCELED);
  CU_ASSERT_EQUAL(ran, 0);
}

static ws::pool &stopped(ws::pool &pool)
{
  pool.stop(WS_STOP_DRAIN);
  return pool;
}

DEATHS(errors_end_the_process,
       {"workers = 1000000 is out of range", [](ws::pool &) { ws::pool pool(1000000u); }},
       {"ws::pool::push: ", [](ws::pool &pool) { stopped(pool).push([] {}); }},
       {"ws::pool: a task with a future does not run: ", [](ws::pool &pool) { stopped(pool).submit([] {}); }},
       {"ws::group::run: ", [](ws::pool &pool) { ws::group().run(stopped(pool), [] {}); }},
       {"ws::promise::~promise: there is no result for its future",
        [](ws::pool &) { static_cast<void>(ws::promise<int>().get_future()); }})
