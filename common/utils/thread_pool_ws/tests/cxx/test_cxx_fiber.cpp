// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_fiber.cpp
/// Callables that take a ws::context: they run as fibers, in every function that takes a callable, and their
/// futures and groups can be waited for by threads, tasks and fibers, with one worker.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>

#include "cxx_fibers.hpp"

#include "../../include/ws_sync.h"

namespace {

/// Two fibers that yield to each other, on one worker.
void fibers_take_turns()
{
  ws::pool pool(settings_of(1));
  std::string order;
  ws::future<void> a, b; // not a group: the waiting thread would run one of them beside the worker
  auto speak = [&order](char name) {
    return [&order, name](ws::context &context) {
      for (int i = 0; i < 3; i++) {
        order += name;
        context.yield();
      }
    };
  };
  pool.submit([&] { // both are queued before either begins
        a = pool.submit(speak('a'));
        b = pool.submit(speak('b'));
      })
      .get();
  a.get();
  b.get();
  CU_ASSERT_TRUE(order == "ababab" || order == "bababa");
}

void results_and_exceptions_reach_the_future()
{
  ws::pool pool(settings_of(1));
  ws::future<int> answer = pool.submit([](ws::context &context) {
    context.yield();
    return 42;
  });
  CU_ASSERT_EQUAL(answer.get(), 42);
  ws::future<void> failed = pool.submit([](ws::context &context) {
    context.yield();
    throw std::runtime_error("in a fiber");
  });
  pool.wait(); // thread sanitizer does not see libstdc++'s count of who holds an exception
  bool thrown = false;
  try {
    failed.get();
  } catch (const std::runtime_error &error) {
    thrown = std::string(error.what()) == "in a fiber";
  }
  CU_ASSERT_TRUE(thrown);
  std::promise<int> promise;
  std::future<int> due = promise.get_future();
  pool.submit([](ws::context &) { return 7; }, &promise);
  CU_ASSERT_EQUAL(pool.get(due), 7);
}

/// A task, and a fiber, wait for a fiber that is queued behind them.
void one_worker_is_enough()
{
  ws::pool pool(settings_of(1));
  auto inner = [](ws::context &context) {
    context.yield();
    return 5;
  };
  CU_ASSERT_EQUAL(pool.submit([&] { return pool.submit(inner).get(); }).get(), 5);
  CU_ASSERT_EQUAL(pool.submit([&](ws::context &) { return pool.submit(inner).get(); }).get(), 5);
  CU_ASSERT_EQUAL(pool.submit([&](ws::context &) {
                        ws::group group;
                        int sum = 0;
                        group.run(pool, [&](ws::context &context) {
                          context.yield();
                          sum += 2;
                        });
                        group.run(pool, [&] { sum += 3; });
                        group.wait();
                        return sum;
                      })
                      .get(),
                  5);
}

/// A fiber that waits for a lock lets the worker run the owner.
void waits_of_a_fiber_give_the_worker_back()
{
  ws::pool pool(settings_of(1));
  ws_gate_t gate = WS_GATE_INIT;
  std::atomic<int> passed{0};
  ws::group group;
  for (int i = 0; i < 10; i++)
    group.run(pool, [&](ws::context &) {
      ws_gate_wait(&gate);
      passed++;
    });
  group.run(pool, [&] { ws_gate_open(&gate); });
  group.wait();
  CU_ASSERT_EQUAL(passed.load(), 10);
}

/// A fiber reads what another one writes, on one worker.
void descriptors_are_waited_for()
{
  ws::pool pool(settings_of(1));
  int ends[2];
  CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
  const auto past = std::chrono::steady_clock::time_point::min();
  auto wait_for = [&](int fd) { return [fd](ws::context &context) { return context.wait_fd(fd, POLLIN); }; };
  ws::future<int> ready = pool.submit(wait_for(ends[0]));
  auto look = [&](ws::context &context) { return context.wait_fd(ends[0], POLLIN, past); };
  CU_ASSERT_EQUAL(pool.submit(look).get(), -ETIMEDOUT);
  CU_ASSERT_EQUAL(pool.submit(wait_for(-1)).get(), -EBADF);
  CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
  CU_ASSERT_EQUAL(ready.get(), POLLIN);
  close(ends[0]);
  close(ends[1]);
}

void pushes_and_hints_work()
{
  ws::pool pool(settings_of(2));
  std::atomic<int> ran{0};
  pool.push([&](ws::context &context) {
    context.yield();
    ran++;
  });
  CU_ASSERT_EQUAL(pool.try_push([&](ws::context &) { ran++; }, ws::priority::high), 0);
  auto nap = [](ws::context &context) { return context.sleep_for(std::chrono::microseconds(1)); };
  CU_ASSERT_TRUE(pool.submit(nap).get());
  pool.wait();
  CU_ASSERT_EQUAL(ran.load(), 2);
}

/// A fiber that has not begun when the pool is aborted, and one that is refused.
void skipped_and_refused_fibers_are_reported()
{
  ws::future<int> skipped, refused;
  {
    held_pool held(1);
    skipped = held.pool.submit([](ws::context &) { return 1; });
    ws::group group;
    group.run(held.pool, [](ws::context &) {});
    std::thread stopper([&] { held.pool.stop(WS_STOP_ABORT); });
    // the stopping thread skips what is queued, while the worker stands
    CU_ASSERT_TRUE(skipped.wait_for(std::chrono::seconds(TEST_DEADLINE_S)) == std::future_status::ready);
    held.let();
    stopper.join();
    bool is_cancelled = false;
    try {
      group.wait();
    } catch (const ws::cancelled &) {
      is_cancelled = true;
    }
    CU_ASSERT_TRUE(is_cancelled);
    refused = held.pool.submit([](ws::context &) { return 1; });
  }
  bool is_cancelled = false, is_refused = false;
  try {
    skipped.get();
  } catch (const ws::cancelled &) {
    is_cancelled = true;
  }
  try {
    refused.get();
  } catch (const std::system_error &error) {
    is_refused = error.code() == std::errc::operation_canceled;
  }
  CU_ASSERT_TRUE(is_cancelled);
  CU_ASSERT_TRUE(is_refused);
}

/// The task is queued behind the fiber that waits for it. It runs on the worker's own stack, while the fiber
/// is parked.
void a_fiber_parks_for_a_queued_task()
{
  held_pool held(1);
  ws::future<int> behind;
  ws::future<int> fiber = held.pool.submit([&](ws::context &) { return behind.get() + 1; });
  std::uint64_t parked_then = 0;
  bool in_fiber = true;
  behind = held.pool.submit([&] {
    parked_then = parked();
    in_fiber = ws_fiber_name() != nullptr;
    return 6;
  });
  held.let();
  CU_ASSERT_EQUAL(fiber.get(), 7);
  CU_ASSERT_EQUAL(parked_then, 1);
  CU_ASSERT_FALSE(in_fiber);
}

struct parked_alone {
  std::atomic<int> count{0};
  int wanted;
};
bool is_reached(void *of)
{
  const parked_alone *self = static_cast<parked_alone *>(of);
  return self->count == self->wanted && parked() == 1;
}

/// The task stands on a thread outside. Meanwhile the only worker runs other fibers to their end.
void a_fiber_parks_for_a_task_that_has_begun()
{
  held_pool held(1);
  gate inside;
  ws::future<int> awaited = held.pool.submit([&] {
    inside.stand();
    return 8;
  });
  std::thread outside([&] { ws_pool_wait(held.pool.native()); }); // helps with what is queued
  CU_ASSERT_TRUE_FATAL(inside.await(1));
  parked_alone others;
  others.wanted = 10;
  ws::future<int> fiber = held.pool.submit([&](ws::context &) { return awaited.get() + 1; });
  ws::group group;
  for (int i = 0; i < others.wanted; i++)
    group.run(held.pool, [&](ws::context &context) {
      context.yield();
      others.count++;
    });
  held.let();
  CU_ASSERT_TRUE(test_until(is_reached, &others));
  inside.let(1);
  CU_ASSERT_EQUAL(fiber.get(), 9);
  group.wait();
  outside.join();
}

/// The task for which a fiber waits is skipped by an abort. The stopping thread skips it, and runs the fiber.
void a_skipped_task_ends_the_wait_of_a_fiber()
{
  held_pool held(1);
  gate door;
  ws::future<void> behind;
  ws::future<bool> fiber =
      held.pool.submit([&](ws::context &) { return throws<ws::cancelled>([&] { behind.get(); }); });
  held.pool.push([&] { door.stand(); }); // the worker takes the oldest first
  behind = held.pool.submit([] {});
  held.let();
  CU_ASSERT_TRUE_FATAL(door.await(1));
  CU_ASSERT_EQUAL(parked(), 1);
  std::thread stopper([&] { held.pool.stop(WS_STOP_ABORT); });
  CU_ASSERT_TRUE(fiber.wait_for(std::chrono::seconds(TEST_DEADLINE_S)) == std::future_status::ready);
  door.let(1);
  stopper.join();
  CU_ASSERT_TRUE(fiber.get());
}

/// A sleep that is longer than nanoseconds can count lasts until the pool is aborted.
void a_sleep_may_be_endless()
{
  ws::pool pool(settings_of(1));
  std::atomic<int> begun{0};
  ws::future<bool> hours = pool.submit([&](ws::context &context) {
    begun++;
    return context.sleep_for(std::chrono::hours::max());
  });
  ws::future<bool> seconds = pool.submit([&](ws::context &context) {
    begun++;
    return context.sleep_for(std::chrono::duration<double>(1e300));
  });
  auto short_sleeps = [](ws::context &context) {
    const std::chrono::duration<double> short_time(1e-9);
    return context.sleep_for(-std::chrono::hours(1)) && context.sleep_for(short_time);
  };
  CU_ASSERT_TRUE(pool.submit(short_sleeps).get());
  auto have_begun = [](void *count) { return static_cast<std::atomic<int> *>(count)->load() == 2; };
  CU_ASSERT_TRUE(test_until(have_begun, &begun));
  pool.stop(WS_STOP_ABORT);
  CU_ASSERT_FALSE(hours.get());
  CU_ASSERT_FALSE(seconds.get());
}

/// The only worker runs others until the time is over, also the task that is waited for.
void waits_with_a_limit_park()
{
  ws::pool pool(settings_of(1));
  ws::group group;
  ws_group_t open;
  ws_group_init(&open, 1);
  ws::future<bool> fiber = pool.submit([&](ws::context &) {
    ws::future<int> task = pool.submit([] { return 1; });
    group.run(pool, [&](ws::context &) { ws_group_wait(&open, nullptr); });
    const bool late = !group.wait_for(std::chrono::milliseconds(1));
    const bool ready = task.wait_for(std::chrono::hours(1)) == std::future_status::ready;
    ws_group_complete(&open, 1);
    return late && ready && group.wait_for(std::chrono::hours(1));
  });
  CU_ASSERT_TRUE(fiber.get());
}

/// The future goes before the fiber ends.
void a_future_may_be_dropped()
{
  std::atomic<bool> ran{false};
  {
    held_pool held(1);
    held.pool.submit([&](ws::context &context) {
      context.yield();
      ran = true;
    });
  }
  CU_ASSERT_TRUE(ran.load());
}

} // namespace

TEST_SUITE(fiber, TEST_CASE(fibers_take_turns), TEST_CASE(results_and_exceptions_reach_the_future),
           TEST_CASE(one_worker_is_enough), TEST_CASE(waits_of_a_fiber_give_the_worker_back),
           TEST_CASE(descriptors_are_waited_for), TEST_CASE(pushes_and_hints_work),
           TEST_CASE(skipped_and_refused_fibers_are_reported), TEST_CASE(a_fiber_parks_for_a_queued_task),
           TEST_CASE(a_fiber_parks_for_a_task_that_has_begun),
           TEST_CASE(a_skipped_task_ends_the_wait_of_a_fiber), TEST_CASE(a_sleep_may_be_endless),
           TEST_CASE(waits_with_a_limit_park), TEST_CASE(a_future_may_be_dropped))
