// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_promise.cpp
/// ws::promise and ws::future::then(): results, exceptions, both orders of set and get, chains, pools that
/// stop. Built for C++17 and C++20.
#include <memory>
#include <stdexcept>
#include <string>

#include "cxx_fibers.hpp"

namespace {

void results_reach_the_future()
{
  ws::promise<std::unique_ptr<int>> value;
  ws::future<std::unique_ptr<int>> future = value.get_future();
  CU_ASSERT(future.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  CU_ASSERT_FALSE(future.cancel()); // there is no task
  value.set_value(std::make_unique<int>(3));
  CU_ASSERT_EQUAL(*future.get(), 3);
  int place = 4;
  ws::promise<int &> reference;
  reference.set_value(place);
  CU_ASSERT_PTR_EQUAL(&reference.get_future().get(), &place);
}

void promises_need_no_future_and_no_result()
{
  ws::promise<void> unused;
  ws::promise<int> without_future, moved;
  without_future.set_value(1);
  ws::future<int> broken;
  {
    ws::promise<int> gone;
    broken = gone.get_future();
    moved = std::move(gone);
    moved = ws::promise<int>();
  }
  CU_ASSERT_TRUE(throws<std::future_error>([&] { broken.get(); }));
  ws::promise<int> failed;
  ws::future<int> failure = failed.get_future();
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { failure.get(); }));
  ws::future<int> dropped = moved.get_future();
  dropped = ws::future<int>(); // before the result
  moved.set_value(1);
}

struct throws_when_copied {
  throws_when_copied() = default;
  throws_when_copied(const throws_when_copied &) { throw std::logic_error("copy"); }
};

void an_exception_of_the_copy_goes_to_the_future()
{
  ws::promise<throws_when_copied> promise;
  ws::future<throws_when_copied> future = promise.get_future();
  const throws_when_copied value;
  promise.set_value(value);
  CU_ASSERT_TRUE(throws<std::logic_error>([&] { future.get(); }));
}

/// One worker: the fiber parks, and the worker runs the task that gives the result.
void fibers_park_for_promises()
{
  ws::pool pool(settings_of(1));
  ws::promise<int> promise;
  ws::future<int> future = promise.get_future();
  ws::future<int> fiber = pool.submit([&](ws::context &) { return future.get() + 1; });
  CU_ASSERT_TRUE(await_parked(1));
  pool.push([&] { promise.set_value(5); });
  CU_ASSERT_EQUAL(fiber.get(), 6);
}

/// A task waits, and a thread gives the result and destroys the promise's owner.
void tasks_and_threads_wait_for_promises()
{
  ws::pool pool(settings_of(1));
  for (int i = 0; i < 200; i++) {
    auto promise = std::make_unique<ws::promise<int>>();
    ws::future<int> future = promise->get_future();
    ws::future<int> task = pool.submit([&] {
      const int value = future.get();
      promise.reset();
      return value;
    });
    promise->set_value(i);
    CU_ASSERT_EQUAL(task.get(), i);
  }
}

void chains_run_in_order()
{
  ws::pool pool(settings_of(2));
  std::string order;
  ws::future<std::string> chain =
      pool.submit([&order] {
            order += 'a';
            return 1;
          })
          .then(pool,
                [&order](int value) {
                  order += 'b';
                  return std::make_unique<int>(value + 1);
                })
          .then(pool, [&order](std::unique_ptr<int> value) { order += "cdef"[*value]; })
          .then(
              pool, [&order] { return order + '.'; }, ws::priority::high);
  CU_ASSERT_EQUAL(chain.get(), "abe.");
}

/// The task stands in a gate when then() is called, and has ended when it is called again.
void continuations_come_before_or_after_the_result()
{
  ws::pool pool(settings_of(2));
  gate door;
  ws::future<int> stands = pool.submit([&door] {
    door.stand();
    return 1;
  });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  ws::future<int> next = stands.then(pool, [](int value) { return value + 1; });
  CU_ASSERT_FALSE(stands.valid());
  door.let(1);
  CU_ASSERT_EQUAL(next.get(), 2);
  ws::future<int> ready = pool.submit([] { return 3; });
  ready.wait();
  CU_ASSERT_EQUAL(ready.then(pool, [](int value) { return value + 1; }).get(), 4);
  ws::promise<void> promise;
  ws::future<int> later = promise.get_future().then(pool, [] { return 5; });
  CU_ASSERT(later.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout);
  promise.set_value();
  CU_ASSERT_EQUAL(later.get(), 5);
}

void errors_pass_through()
{
  ws::pool pool(settings_of(1));
  bool called = false;
  ws::future<void> failed =
      pool.submit([]() -> int { throw std::runtime_error("first"); }).then(pool, [&](int) { called = true; });
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { failed.get(); }));
  CU_ASSERT_FALSE(called);
  ws::future<void> second = pool.submit([] {}).then(pool, [] { throw std::logic_error("second"); });
  CU_ASSERT_TRUE(throws<std::logic_error>([&] { second.get(); }));
}

/// In a task get() runs what has not begun: the whole chain, on one held worker.
void get_runs_a_chain()
{
  ws::pool pool(settings_of(1));
  const int result = pool.submit([&] {
                           ws::future<int> chain = pool.submit([] { return 1; })
                                                       .then(pool, [](int value) { return value + 1; })
                                                       .then(pool, [](int value) { return value * 10; });
                           return chain.get();
                         })
                         .get();
  CU_ASSERT_EQUAL(result, 20);
  pool.wait();
}

void stopped_pools_refuse_continuations()
{
  ws::promise<int> promise;
  ws::future<int> next, skipped;
  std::atomic<int> ran{0};
  held_pool held(1);
  ws::pool other(settings_of(1));
  next = promise.get_future().then(other, [&ran](int) { return ++ran; });
  skipped = held.pool.submit([] { return 1; }).then(other, [&ran](int) { return ++ran; });
  other.stop(WS_STOP_DRAIN);
  promise.set_value(1);
  CU_ASSERT_EQUAL(error_of([&] { next.get(); }), ECANCELED);
  std::thread stopper([&] { held.pool.stop(WS_STOP_ABORT); });
  CU_ASSERT(skipped.wait_for(std::chrono::seconds(TEST_DEADLINE_S)) == std::future_status::ready);
  held.let();
  stopper.join();
  CU_ASSERT_EQUAL(error_of([&] { skipped.get(); }), ECANCELED);
  CU_ASSERT_EQUAL(ran, 0);
}

/// The cancel destroys the callable, and with it the future that it waits for.
void cancelled_continuations_do_not_run()
{
  ws::pool pool(settings_of(1));
  ws::promise<int> promise;
  std::atomic<int> ran{0};
  ws::future<int> next = promise.get_future().then(pool, [&ran](int) { return ++ran; });
  CU_ASSERT_TRUE(next.cancel());
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { next.get(); }));
  promise.set_value(1); // continues nothing
  pool.wait();
  CU_ASSERT_EQUAL(ran, 0);
}

/// The first task is skipped: the second is pushed all the same, and passes that on.
void aborts_cancel_chains()
{
  ws::pool pool(settings_of(1));
  std::atomic<int> ran{0};
  held_pool held(1);
  ws::future<int> next = held.pool.submit([&ran] { return ++ran; }).then(pool, [&ran](int) { return ++ran; });
  std::thread stopper([&held] { held.pool.stop(WS_STOP_ABORT); });
  await_stop(held.pool);
  held.let();
  stopper.join();
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { next.get(); }));
  CU_ASSERT_EQUAL(ran, 0);
}

/// Results, then() and the end of futures at the same moment.
void continuations_race_with_results()
{
  constexpr int ROUNDS = 2000;
  ws::pool pool(settings_of(3));
  std::atomic<int> ran{0};
  int kept = 0, dropped = 0;
  for (int i = 0; i < ROUNDS; i++) {
    ws::future<int> future = pool.submit([] { return 1; });
    ws::future<int> next = future.then(pool, [&ran](int value) { return ran += value; });
    if (i % 3 == 0) {
      dropped++;
      continue;
    }
    kept++;
    CU_ASSERT(next.get() > 0);
  }
  pool.wait(); // of a chain it does not see tasks that are not pushed yet
  const auto have_run = [](void *of) { return static_cast<std::atomic<int> *>(of)->load() == ROUNDS; };
  CU_ASSERT_TRUE(test_until(have_run, &ran));
  CU_ASSERT_EQUAL(kept + dropped, ROUNDS);
}

/// Each push of the chain runs its task, or is refused, inside the one before: no stack grows with it. A
/// fiber's stack is small.
void long_chains_need_no_stack()
{
  constexpr int LENGTH = 5000;
  ws::pool pool(settings_of(1));
  for (const std::uint32_t workers : {0U, 1U}) {
    ws::pool other(settings_of(workers));
    ws::promise<int> first;
    ws::future<int> last = first.get_future();
    for (int i = 0; i < LENGTH; i++)
      last = last.then(other, [](int before) { return before + 1; });
    if (workers > 0)
      other.stop(WS_STOP_DRAIN);
    pool.submit([&](ws::context &) { first.set_value(0); }).get();
    if (workers > 0)
      CU_ASSERT_EQUAL(error_of([&] { last.get(); }), ECANCELED)
    else
      CU_ASSERT_EQUAL(last.get(), LENGTH)
  }
}

} // namespace

TEST_SUITE(promise, TEST_CASE(results_reach_the_future), TEST_CASE(promises_need_no_future_and_no_result),
           TEST_CASE(an_exception_of_the_copy_goes_to_the_future), TEST_CASE(fibers_park_for_promises),
           TEST_CASE(tasks_and_threads_wait_for_promises), TEST_CASE(chains_run_in_order),
           TEST_CASE(continuations_come_before_or_after_the_result), TEST_CASE(errors_pass_through),
           TEST_CASE(get_runs_a_chain), TEST_CASE(stopped_pools_refuse_continuations),
           TEST_CASE(cancelled_continuations_do_not_run), TEST_CASE(aborts_cancel_chains),
           TEST_CASE(continuations_race_with_results), TEST_CASE(long_chains_need_no_stack))
