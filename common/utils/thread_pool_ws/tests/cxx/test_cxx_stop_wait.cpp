// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_stop_wait.cpp
/// A stop token ends the waits of fibers and threads. Built for C++17 and C++20.
#include <vector>

#include "../../include/ws_channel.hpp"
#include "cxx_fibers.hpp"

namespace {

using status = ws::channel_status;

/// One source: a task that has not begun, fibers that wait, a group's fiber, a loop.
void one_source_stops_all()
{
  ws::pool pool(settings_of(1));
  ws::stop_source source, other;
  ws::channel<int> channel(1);
  const auto receive = [&](ws::context &) {
    int into;
    return channel.receive(into);
  };
  ws::future<status> stopped = pool.submit(receive, source.get_token());
  ws::future<status> goes_on = pool.submit(receive, other.get_token());
  ws::group group;
  ws::latch never(1);
  group.run(
      pool, [&](ws::context &) { never.wait(); }, source.get_token());
  CU_ASSERT_TRUE_FATAL(await_parked(3));
  std::atomic<int> calls{0};
  const auto call = [&](int) { calls++; };
  CU_ASSERT_TRUE(ws::parallel_for(pool, 0, 9, call, source.get_token()));
  CU_ASSERT_TRUE(source.request_stop());
  CU_ASSERT(stopped.get() == status::cancelled);
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { group.wait(); }));
  CU_ASSERT_FALSE(ws::parallel_for(pool, 0, 9, call, source.get_token()));
  CU_ASSERT_EQUAL(calls, 9);
  ws::future<status> late = pool.submit(receive, source.get_token());
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { late.get(); })); // it does not begin
  channel.send(1);
  CU_ASSERT(goes_on.get() == status::done);
}

/// The token ends the waits until the scope's end; then the token from before does.
void scopes_nest()
{
  ws::pool pool(settings_of(1));
  ws::stop_source inner, outer;
  ws::counting_semaphore<> units(0);
  std::atomic<int> ended{0};
  ws::future<void> fiber = pool.submit(
      [&](ws::context &) {
        {
          const ws::stop_scope<ws::stop_token> scope(inner.get_token());
          ended += throws<ws::cancelled>([&] { units.acquire(); });
        }
        ended += !units.try_acquire_for(std::chrono::hours(1));
        const ws::stop_scope<ws::stop_token> requested(inner.get_token());
        ended += throws<ws::cancelled>([&] { units.acquire(); });
      },
      outer.get_token());
  CU_ASSERT_TRUE(await_parked(1));
  inner.request_stop();
  const auto first_ended = [](void *count) {
    return *static_cast<std::atomic<int> *>(count) == 1 && parked() == 1;
  };
  CU_ASSERT_TRUE(test_until(first_ended, &ended));
  outer.request_stop();
  fiber.get();
  CU_ASSERT_EQUAL(ended, 3);
}

void threads_have_scopes_too()
{
  ws::stop_source source;
  ws::latch latch(1), waits(1);
  bool ended = false;
  std::thread thread([&] {
    const ws::stop_scope<ws::stop_token> scope(source.get_token());
    waits.count_down();
    ended = throws<ws::cancelled>([&] { latch.wait(); });
  });
  waits.wait();
  source.request_stop();
  thread.join();
  CU_ASSERT_TRUE(ended);
  CU_ASSERT_PTR_NULL(ws_cancel_used());
}

void conditions_take_tokens()
{
  ws::pool pool(settings_of(1));
  ws::stop_source source, never;
  ws::mutex mutex;
  ws::condition_variable changed;
  bool ready = false;
  const auto wait = [&](ws::stop_token token) {
    return [&, token](ws::context &) {
      std::unique_lock<ws::mutex> held(mutex);
      return changed.wait(held, token, [&] { return ready; }) && held.owns_lock();
    };
  };
  ws::future<bool> stopped = pool.submit(wait(source.get_token()));
  ws::future<bool> notified = pool.submit(wait(never.get_token()));
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  source.request_stop();
  CU_ASSERT_FALSE(stopped.get());
  CU_ASSERT_FALSE(pool.submit(wait(source.get_token())).get()); // it does not wait
  {
    const std::lock_guard<ws::mutex> held(mutex);
    ready = true;
  }
  changed.notify_all();
  CU_ASSERT_TRUE(notified.get());
  CU_ASSERT_TRUE(pool.submit(wait(source.get_token())).get()); // ready, though stopped
  ready = false;
  ws::future<bool> aborted = pool.submit(wait(never.get_token()));
  CU_ASSERT_TRUE_FATAL(await_parked(1));
  pool.stop(WS_STOP_ABORT);
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { aborted.get(); }));
}

/// A token of the program's own, with the member that C++26 gives to the standard's.
struct own_token {
  ws::stop_token inner;
  template <typename F>
  struct callback_type {
    ws::stop_callback<F> callback;
    template <typename C>
    callback_type(const own_token &of, C &&call) : callback(of.inner, std::forward<C>(call))
    {
    }
  };
  bool stop_requested() const noexcept { return inner.stop_requested(); }
  bool stop_possible() const noexcept { return inner.stop_possible(); }
};

/// And one that can only be asked: it keeps a fiber from its begin.
struct plain_token {
  ws::stop_token inner;
  bool stop_requested() const noexcept { return inner.stop_requested(); }
  bool stop_possible() const noexcept { return inner.stop_possible(); }
};

void tokens_of_the_program_work()
{
  ws::pool pool(settings_of(1));
  ws::stop_source source;
  ws::counting_semaphore<> units(0);
  const auto wait = [&](ws::context &) { units.acquire(); };
  ws::future<void> stopped = pool.submit(wait, own_token{source.get_token()});
  ws::future<void> goes_on = pool.submit(wait, plain_token{source.get_token()});
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  source.request_stop();
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { stopped.get(); }));
  units.release();
  goes_on.get();
  ws::future<void> late = pool.submit(wait, plain_token{source.get_token()});
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { late.get(); }));
}

/// Requests, waits that begin and waits that end at the same moment.
void requests_race_with_waits()
{
  constexpr int ROUNDS = 200, FIBERS = 4;
  ws::pool pool(settings_of(2));
  for (int round = 0; round < ROUNDS; round++) {
    ws::stop_source source;
    ws::counting_semaphore<> units(0);
    std::atomic<int> acquired{0};
    ws::group group;
    for (int i = 0; i < FIBERS; i++)
      group.run(
          pool,
          [&](ws::context &) {
            units.acquire();
            acquired++;
          },
          source.get_token());
    units.release(round % FIBERS);
    source.request_stop();
    const bool cancelled = throws<ws::cancelled>([&] { group.wait(); });
    CU_ASSERT_EQUAL(cancelled, acquired < FIBERS);
    for (int i = acquired; i < round % FIBERS; i++)
      CU_ASSERT_TRUE(units.try_acquire()); // no unit is lost
    CU_ASSERT_FALSE(units.try_acquire());
  }
}

} // namespace

TEST_SUITE(stop_wait, TEST_CASE(one_source_stops_all), TEST_CASE(scopes_nest),
           TEST_CASE(threads_have_scopes_too), TEST_CASE(conditions_take_tokens),
           TEST_CASE(tokens_of_the_program_work), TEST_CASE(requests_race_with_waits))
