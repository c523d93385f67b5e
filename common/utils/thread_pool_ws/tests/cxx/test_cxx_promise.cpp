// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_promise.cpp
/// ws::promise and ws::future::then(): results, exceptions, both orders of set and get, chains, pools that
/// stop.
#include "cxx_scene.hpp"

CASE(results_of_promises)
{
  ws::promise<std::unique_ptr<int>> value;
  ws::future<std::unique_ptr<int>> future = value.get_future();
  CU_ASSERT(future.wait_for(0s) == std::future_status::timeout);
  CU_ASSERT_FALSE(future.cancel()); // there is no task
  value.set_value(std::make_unique<int>(3));
  CU_ASSERT_EQUAL(*future.get(), 3);
  int place = 4;
  ws::promise<int &> reference;
  reference.set_value(place);
  CU_ASSERT_PTR_EQUAL(&reference.get_future().get(), &place);
  ws::promise<int> failed;
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { failed.get_future().get(); }));
  ws::promise<watched> copied;
  const watched source;
  watched::throws_in = 1;
  copied.set_value(source);
  CU_ASSERT_TRUE(throws<std::range_error>([&] { copied.get_future().get(); }));
}

/// Nothing but the exception's count of users orders that thread after the read.
CASE(the_last_user_of_an_exception_may_be_another_thread)
{
  ws::promise<int> failed;
  ws::future<int> future = failed.get_future();
  std::exception_ptr error = std::make_exception_ptr(std::system_error(ENODEV, std::generic_category()));
  failed.set_exception(error);
  std::atomic<bool> read{false};
  std::thread other([&read, last = std::move(error)]() mutable {
    while (!read.load(std::memory_order_relaxed))
      std::this_thread::yield();
    last = nullptr;
  });
  CU_ASSERT_EQUAL(end_of([&] { future.get(); }), ENODEV);
  read.store(true, std::memory_order_relaxed);
  other.join();
}

CASE(promises_need_no_future_and_no_result)
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
  ws::future<int> dropped = moved.get_future();
  dropped = ws::future<int>(); // before the result
  moved.set_value(1);
}

/// A task waits, and destroys the promise as soon as it has the result.
POOL_CASE(the_waiting_thread_may_destroy_the_promise, 1)
{
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

/// The first task stands in a gate when then() is called. In a task get() runs what has not begun. A result
/// that is ready continues at once, with the hint.
CASE(chains_run_in_order)
{
  held_pool scene(1);
  std::string order;
  ws::future<int> first = scene.pool.submit([&order] {
    order += 'a';
    return 1;
  });
  ws::future<std::unique_ptr<int>> second = first.then(scene.pool, [&order](int value) {
    order += 'b';
    return std::make_unique<int>(value + 1);
  });
  ws::future<void> third =
      second.then(scene.pool, [&order](std::unique_ptr<int> value) { order += "cdef"[*value]; });
  ws::future<std::string> chain = third.then(scene.pool, [&order] { return order + '.'; });
  CU_ASSERT_FALSE(first.valid());
  CU_ASSERT(chain.wait_for(0s) == std::future_status::timeout);
  scene.let();
  CU_ASSERT_EQUAL(chain.get(), "abe.");
  const auto add = [](int value) { return value + 1; };
  const auto in_a_task = [&] { return scene.pool.submit([] { return 1; }).then(scene.pool, add).get(); };
  CU_ASSERT_EQUAL(scene.pool.submit(in_a_task).get(), 2);
  ws::promise<int> done;
  done.set_value(4);
  const auto priority = [](int) { return ws_current_task()->priority; };
  ws::future<ws_priority_t> hinted = done.get_future().then(scene.pool, priority, ws::priority::high);
  CU_ASSERT_EQUAL(hinted.get(), WS_PRIORITY_HIGH);
}

POOL_CASE(errors_pass_through, 1)
{
  bool called = false;
  ws::future<void> failed =
      pool.submit([]() -> int { throw std::runtime_error("first"); }).then(pool, [&](int) { called = true; });
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { failed.get(); }));
  CU_ASSERT_FALSE(called);
  ws::future<void> second = pool.submit([] {}).then(pool, [] { throw std::logic_error("second"); });
  CU_ASSERT_TRUE(throws<std::logic_error>([&] { second.get(); }));
}

/// The pool of the continuation is stopped, or that of the first task is aborted: what was cancelled is
/// passed on. A cancel destroys the callable, and with it the future that it waits for.
CASE(continuations_that_do_not_run)
{
  ws::pool stopped(settings_of(1)), pool(settings_of(1));
  held_pool held(1);
  ws::promise<int> promise, other;
  std::atomic<int> ran{0};
  const auto run = [&ran](int) { return ++ran; };
  ws::future<int> refused = promise.get_future().then(stopped, run);
  ws::future<int> skipped = held.pool.submit([] { return 1; }).then(pool, run);
  ws::future<int> refused_later = held.pool.submit([] { return 1; }).then(stopped, run);
  ws::future<int> cancelled = other.get_future().then(pool, run);
  CU_ASSERT_TRUE(cancelled.cancel());
  stopped.stop(WS_STOP_DRAIN);
  promise.set_value(1);
  other.set_value(1); // continues nothing
  held.abort();
  CU_ASSERT_EQUAL(end_of([&] { refused.get(); }), ECANCELED);
  CU_ASSERT_EQUAL(end_of([&] { skipped.get(); }), SKIPPED);
  CU_ASSERT_EQUAL(end_of([&] { refused_later.get(); }), ECANCELED);
  CU_ASSERT_EQUAL(end_of([&] { cancelled.get(); }), SKIPPED);
  pool.wait();
  CU_ASSERT_EQUAL(ran, 0);
}

#if WS_TEST_FIBERS
/// Each push of the chain runs its task, or is refused, inside the one before: no stack grows with it. A
/// fiber's stack is small.
POOL_CASE(long_chains_need_no_stack, 1)
{
  constexpr int LENGTH = 5000;
  for (const std::uint32_t workers : {0U, 1U}) {
    ws::pool other(settings_of(workers));
    ws::promise<int> first;
    ws::future<int> last = first.get_future();
    for (int i = 0; i < LENGTH; i++)
      last = last.then(other, [](int before) { return before + 1; });
    if (workers > 0)
      other.stop(WS_STOP_DRAIN);
    pool.submit([&](ws::context &) { first.set_value(0); }).get();
    int result = 0;
    CU_ASSERT_EQUAL(end_of([&] { result = last.get(); }), workers > 0 ? ECANCELED : 0);
    CU_ASSERT_EQUAL(result, workers > 0 ? 0 : LENGTH);
  }
}
#else
void long_chains_need_no_stack() {}
#endif
