// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_fiber.cpp
/// Callables that take a ws::context: they run as fibers, in every function that takes a callable, and their
/// futures and groups can be waited for by threads, tasks and fibers, with one worker.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>

#include "cxx_scene.hpp"

#include "../../include/ws_sync.h"

namespace {

/// Two fibers that yield to each other, on one worker.
void fibers_take_turns()
{
  ws::pool pool(settings_of(1));
  std::string order;
  ws::group group;
  auto speak = [&order](char name) {
    return [&order, name](ws::context &context) {
      for (int i = 0; i < 3; i++) {
        order += name;
        context.yield();
      }
    };
  };
  pool.submit([&] { // both are queued before either begins
        group.run(pool, speak('a'));
        group.run(pool, speak('b'));
      }).get();
  group.wait();
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
                      }).get(),
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

TEST_MAIN("cxx_fiber", TEST_CASE(fibers_take_turns), TEST_CASE(results_and_exceptions_reach_the_future),
          TEST_CASE(one_worker_is_enough), TEST_CASE(waits_of_a_fiber_give_the_worker_back),
          TEST_CASE(descriptors_are_waited_for), TEST_CASE(pushes_and_hints_work),
          TEST_CASE(skipped_and_refused_fibers_are_reported),
          TEST_CASE(a_future_may_be_dropped))
