// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_stop_wait.cpp
/// A stop token ends the waits of fibers and threads. Built for C++17 and C++20.
#include <mutex>

#include "../../include/ws_channel.hpp"
#include "cxx_scene.hpp"

using status = ws::channel_status;

/// Waits of fibers, of a group's fiber, and of a loop of one source end; those of another go on.
POOL_CASE(one_source_stops_all, 1)
{
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
  const auto wait = [&](ws::context &) { never.wait(); };
  group.run(pool, wait, source.get_token());
  CU_ASSERT_TRUE_FATAL(await_parked(3));
  CU_ASSERT_TRUE(source.request_stop());
  CU_ASSERT(stopped.get() == status::cancelled);
  CU_ASSERT_EQUAL(end_of([&] { group.wait(); }), SKIPPED);
  ws::future<status> late = pool.submit(receive, source.get_token());
  CU_ASSERT_EQUAL(end_of([&] { late.get(); }), SKIPPED); // it does not begin
  channel.send(1);
  CU_ASSERT(goes_on.get() == status::done);
}

/// The token ends the waits until the scope's end; then the token from before does. Threads have scopes, too.
CASE(scopes_nest)
{
  ws::stop_source inner, outer;
  ws::counting_semaphore<> units(0);
  ws::latch ended(1);
  const auto acquire = [&](const ws::stop_source &source) {
    const ws::stop_scope<ws::stop_token> scope(source.get_token());
    return end_of([&] { units.acquire(); });
  };
  ws::pool pool(settings_of(1));
  ws::future<bool> fiber = pool.submit(
      [&](ws::context &) {
        const int first = acquire(inner);
        ended.count_down();
        const bool second = units.try_acquire_for(1h);
        return first == SKIPPED && !second && acquire(inner) == SKIPPED;
      },
      outer.get_token());
  CU_ASSERT_TRUE(await_parked(1));
  inner.request_stop();
  CU_ASSERT_EQUAL(acquire(inner), SKIPPED);
  CU_ASSERT_PTR_NULL(ws_cancel_used());
  ended.wait();
  CU_ASSERT_TRUE(await_parked(1));
  outer.request_stop();
  CU_ASSERT_TRUE(fiber.get());
}

POOL_CASE(conditions_take_tokens, 1)
{
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
  CU_ASSERT_TRUE(end_of([&] { aborted.get(); }) == SKIPPED);
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

POOL_CASE(tokens_of_the_program_work, 1)
{
  ws::stop_source source;
  ws::counting_semaphore<> units(0);
  const auto wait = [&](ws::context &) { units.acquire(); };
  ws::future<void> stopped = pool.submit(wait, own_token{source.get_token()});
  ws::future<void> goes_on = pool.submit(wait, plain_token{source.get_token()});
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  source.request_stop();
  CU_ASSERT_EQUAL(end_of([&] { stopped.get(); }), SKIPPED);
  units.release();
  goes_on.get();
  CU_ASSERT_EQUAL(end_of([&] { pool.submit(wait, plain_token{source.get_token()}).get(); }), SKIPPED);
}
