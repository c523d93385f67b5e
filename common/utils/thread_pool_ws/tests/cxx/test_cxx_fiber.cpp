// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_fiber.cpp
/// Callables that take a ws::context run as fibers: their waits for futures and groups give the worker back.
/// ws_fiber.hpp. And exceptions in fibers.
#include <poll.h>
#include <unistd.h>

#include "../../include/ws_fiber.hpp"
#include "cxx_scene.hpp"

/// A task, and a fiber, wait for a fiber that is queued behind them, on one worker.
POOL_CASE(one_worker_is_enough, 1)
{
  const auto inner = [](ws::context &context) -> int {
    context.yield();
    throw std::runtime_error("in a fiber");
  };
  const auto is_thrown = [&] { return throws<std::runtime_error>([&] { pool.submit(inner).get(); }); };
  CU_ASSERT_TRUE(pool.submit(is_thrown).get());
  CU_ASSERT_TRUE(pool.submit([&](ws::context &) { return is_thrown(); }).get());
}

/// The task is queued behind the fiber that waits for it. It runs on the worker's own stack, while the fiber
/// is parked. A task that an abort skips ends the wait as well.
CASE(a_fiber_parks_for_a_queued_task)
{
  held_pool scene(1);
  ws::future<int> behind;
  ws::future<void> skipped;
  ws::future<int> fiber = scene.pool.submit([&](ws::context &) { return behind.get() + 1; });
  ws::future<int> other = scene.pool.submit([&](ws::context &) { return end_of([&] { skipped.get(); }); });
  std::uint64_t parked_then = 0;
  bool in_fiber = true;
  behind = scene.pool.submit([&] {
    parked_then = parked();
    in_fiber = ws::this_fiber::is_fiber();
    scene.door.stand();
    return 6;
  });
  skipped = scene.pool.submit([] {});
  scene.let();
  CU_ASSERT_TRUE_FATAL(scene.door.await(1));
  scene.held = 1;
  scene.abort();
  CU_ASSERT_EQUAL(fiber.get(), 7);
  CU_ASSERT_EQUAL(other.get(), SKIPPED);
  CU_ASSERT_EQUAL(parked_then, 2);
  CU_ASSERT_FALSE(in_fiber);
}

/// No other thread can run the fiber than the one that waits for it: a thread outside, in a task of the pool;
/// a worker of the pool, in a task of another one.
CASE(a_future_is_waited_for_in_its_pool)
{
  held_pool held(1);
  const auto seven = [] { return 7; };
  int in_get = 0;
  bool in_wait = false, elsewhere = false;
  ws::group group;
  group.run(held.pool, [&] { in_get = held.pool.submit(ws::fiber(seven), ws::priority::low).get(); });
  group.run(held.pool,
            [&] { in_wait = held.pool.submit(ws::fiber(seven)).wait_for(24h) == std::future_status::ready; });
  group.wait();
  ws::pool other(settings_of(1));
  const auto runs_of_both = [&] {
    ws::group inner;
    inner.run(held.pool, [&] { elsewhere = other.submit(ws::fiber(seven)).get() == 7; });
    inner.wait();
  };
  other.submit(runs_of_both).get();
  CU_ASSERT_EQUAL(in_get, 7);
  CU_ASSERT_TRUE(in_wait && elsewhere);
}

/// The only worker runs others until the time is over, also the task that is waited for.
POOL_CASE(waits_with_a_limit_park, 1)
{
  ws::promise<void> open;
  ws::future<void> opened = open.get_future();
  ws::future<bool> fiber = pool.submit([&](ws::context &) {
    ws::group group;
    ws::future<int> task = pool.submit([] { return 1; });
    group.run(pool, [&](ws::context &) { opened.get(); });
    const bool late = !group.wait_for(1ms);
    const bool ready = task.wait_for(1h) == std::future_status::ready;
    open.set_value();
    return late && ready && group.wait_for(1h);
  });
  CU_ASSERT_TRUE(fiber.get());
}

POOL_CASE(contexts_wait_for_descriptors_and_times, 1)
{
  int ends[2];
  CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
  const auto wait = [&](int fd, steady_clock::time_point until) {
    return pool.submit([=](ws::context &context) { return context.wait_fd(fd, POLLIN, until); });
  };
  ws::future<int> ready = wait(ends[0], steady_clock::time_point::max());
  CU_ASSERT_EQUAL(wait(ends[0], steady_clock::time_point::min()).get(), -ETIMEDOUT);
  CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
  CU_ASSERT_EQUAL(ready.get(), POLLIN);
  close(ends[0]);
  close(ends[1]);
  const auto sleep = [&](auto time) {
    return pool.submit([time](ws::context &context) { return context.sleep_for(time); });
  };
  CU_ASSERT_TRUE(sleep(-1h).get() && sleep(std::chrono::duration<double>(1e-9)).get());
  // longer than nanoseconds can count: until the abort
  ws::future<bool> hours = sleep(std::chrono::hours::max()),
                   seconds = sleep(std::chrono::duration<double>(1e300));
  CU_ASSERT_TRUE(await_parked(2));
  pool.stop(WS_STOP_ABORT);
  CU_ASSERT_FALSE(hours.get() || seconds.get());
}

POOL_CASE(fibers_have_ids_and_variables, 3)
{
  static ws::fiber_local<watched> local;
  std::atomic<int> wrong{0};
  const ws::fiber_id here = ws::this_fiber::get_id();
  CU_ASSERT_FALSE(ws::this_fiber::is_fiber());
  CU_ASSERT(here == ws::this_fiber::get_id() && here != ws::fiber_id() && ws::fiber_id() < here);
  CU_ASSERT(std::hash<ws::fiber_id>()(here) == std::hash<const void *>()(here.address()));
  ws::group group;
  for (int i = 1; i <= 20; i++)
    group.run(pool, [&, i](ws::context &) {
      const ws::fiber_id own = ws::this_fiber::get_id();
      wrong += local.has_value() || !ws::this_fiber::is_fiber() || own == here;
      local->value = i;
      for (int turn = 0; turn < 20; turn++) {
        ws::this_fiber::yield();
        wrong += (*local).value != i || ws::this_fiber::get_id() != own;
      }
      wrong += !ws::this_fiber::sleep_for(1us);
      wrong += !ws::this_fiber::sleep_until(system_clock::now() + 1us);
    });
  group.wait();
  pool.wait(); // the group is complete before the fibers have ended
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(watched::alive, 0);
  std::thread([] { CU_ASSERT_EQUAL(local->value, 0); }).join(); // a thread has its own
  CU_ASSERT_EQUAL(watched::alive, 0);
}

static void throw_at(int depth, int value)
{
  const std::string text = "a string with a destructor, " + std::to_string(depth);
  if (depth == 0)
    throw std::runtime_error(std::to_string(value));
  throw_at(depth - 1, value);
}

/// Each fiber has its own, also if it waits in a catch block, others throw and catch meanwhile, and it moves.
POOL_CASE(fibers_keep_their_exceptions, 2)
{
  std::atomic<int> right{0};
  const auto catches = [&right](int value) {
    try {
      throw_at(5, value);
    } catch (const std::runtime_error &error) {
      ws_yield();
      right += error.what() == std::to_string(value);
      try {
        throw;
      } catch (const std::exception &same) {
        ws_yield();
        right += &same == &error;
      }
    }
    right += std::uncaught_exceptions() == 0 && !std::current_exception();
  };
  for (int i = 0; i < 10; i++)
    pool.push([&catches, i](ws::context &context) {
      for (int turn = 0; turn < 50; turn++, context.yield())
        catches(i);
    });
  pool.wait();
  CU_ASSERT_EQUAL(right, 3 * 10 * 50);
}

DEATHS(an_exception_that_leaves_a_fiber_ends_the_process,
       {"terminated by: of a fiber", [](ws::pool &pool) {
          const auto throws = [](void *) { throw std::runtime_error("of a fiber"); };
          ws_fiber_push(pool.native(), throws, nullptr, nullptr, nullptr);
        }})

POOL_CASE(fibers_have_options, 1)
{
  const auto name = [] { return std::string(ws_fiber_name() ? ws_fiber_name() : "none"); };
  const auto in_context = [&](ws::context &) { return name(); };
  ws::fiber_options options = {"wide", 1 << 20};
  CU_ASSERT_EQUAL(pool.submit(ws::fiber(options, name)).get(), "wide");
  CU_ASSERT_EQUAL(pool.submit(ws::fiber(options, in_context), ws::priority::high).get(), "wide");
  CU_ASSERT_EQUAL(pool.submit(ws::fiber(name)).get(), "fiber");
  CU_ASSERT_EQUAL(pool.submit(in_context).get(), "fiber");
  CU_ASSERT_EQUAL(pool.submit(name).get(), "none");
  options.stack_bytes = 1;
  CU_ASSERT_EQUAL(pool.try_push(ws::fiber(options, name)), -EINVAL);
  CU_ASSERT_EQUAL(end_of([&] { ws::group().run(pool, ws::fiber(options, name)); }), EINVAL);
}
