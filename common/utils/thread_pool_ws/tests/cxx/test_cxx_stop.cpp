// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_stop.cpp
/// Requests to stop: what has not begun does not run, counted at gates. Built for C++17, with the tokens of
/// ws_stop.hpp, and for C++20, with those of the standard library.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx_scene.hpp"

#include "../../include/ws_key.h"

static_assert(WS_STD_STOP == (__cplusplus >= 202002L), "this build tests the other kind of token");

static void sources_and_tokens()
{
  ws::stop_source source;
  const ws::stop_source copy = source;
  const ws::stop_token token = copy.get_token(), none;
  CU_ASSERT_FALSE(token.stop_requested());
  CU_ASSERT_TRUE(token.stop_possible());
  CU_ASSERT_FALSE(none.stop_possible());
  CU_ASSERT_TRUE(source.request_stop());
  CU_ASSERT_FALSE(source.request_stop()); // the second request
  CU_ASSERT_TRUE(token.stop_requested());
  CU_ASSERT_TRUE(copy.stop_requested());
  CU_ASSERT_FALSE(none.stop_requested());
}

static void stopped_submits_do_not_run()
{
  held_pool scene(1);
  ws::stop_source source;
  std::atomic<int> ran{0};
  std::vector<ws::future<int>> stopped, others;
  for (int i = 0; i < 10; i++) {
    stopped.push_back(scene.pool.submit([&ran] { return ++ran; }, source.get_token()));
    others.push_back(scene.pool.submit([] { return 3; }, ws::stop_token()));
  }
  source.request_stop();
  scene.let();
  for (ws::future<int> &future : stopped)
    CU_ASSERT_TRUE(throws<ws::cancelled>([&] { future.get(); }));
  for (ws::future<int> &future : others)
    CU_ASSERT_EQUAL(future.get(), 3);
  CU_ASSERT_EQUAL(ran, 0);
}

static void task_that_has_begun_ends()
{
  ws::pool pool(settings_of(1));
  gate door;
  ws::stop_source source;
  ws::future<int> begun = pool.submit(
      [&door] {
        door.stand();
        return 4;
      },
      source.get_token());
  CU_ASSERT_TRUE_FATAL(door.await(1));
  source.request_stop();
  door.let(1);
  CU_ASSERT_EQUAL(begun.get(), 4);
}

static void group_reports_skipped_tasks()
{
  held_pool scene(1);
  ws::stop_source source;
  ws::group group;
  std::atomic<int> ran{0};
  for (int i = 0; i < 10; i++) {
    group.run(scene.pool, [&ran] { ran++; });
    group.run(
        scene.pool, [&ran] { ran += 100; }, source.get_token());
  }
  source.request_stop();
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { group.wait(); }));
  CU_ASSERT_EQUAL(ran, 10);
  CU_ASSERT_TRUE(group.wait()); // reported once
  group.run(scene.pool, [] { throw 1; });
  group.run(
      scene.pool, [] {}, source.get_token());
  CU_ASSERT_TRUE(throws<int>([&] { group.wait(); })); // an exception goes before it
}

static void loop_that_is_stopped_before_it_begins()
{
  ws::pool pool(settings_of(2));
  ws::stop_source source;
  std::atomic<int> calls{0};
  const auto body = [&calls](int) { calls++; };
  CU_ASSERT_TRUE(ws::parallel_for(pool, 0, 100, body, source.get_token()));
  CU_ASSERT_EQUAL(calls, 100);
  source.request_stop();
  CU_ASSERT_FALSE(ws::parallel_for(pool, 0, 100, body, source.get_token(), 3));
  CU_ASSERT_TRUE(ws::parallel_for(pool, 0, 0, body, source.get_token())); // nothing to skip
  CU_ASSERT_EQUAL(calls, 100);
}

/// The caller and the one worker stand in a call each when the stop is requested: no further call begins.
static void loop_begins_no_further_call()
{
  ws::pool pool(settings_of(1));
  gate door;
  ws::stop_source source;
  std::atomic<int> calls{0};
  std::thread stopper([&] {
    if (door.await(2))
      source.request_stop();
    door.let(1000);
  });
  const bool whole = ws::parallel_for(
      pool, 0, 1000,
      [&](int) {
        calls++;
        door.stand();
      },
      source.get_token(), 1);
  stopper.join();
  CU_ASSERT_FALSE(whole);
  CU_ASSERT_EQUAL(calls, 2);
}

static void loop_in_one_piece_stops_between_numbers()
{
  ws::pool pool(settings_of(0));
  ws::stop_source source;
  int calls = 0;
  const auto body = [&](int i) {
    calls++;
    if (i == 9)
      source.request_stop();
  };
  CU_ASSERT_FALSE(ws::parallel_for(pool, 0, 1000, body, source.get_token()));
  CU_ASSERT_EQUAL(calls, 10);
}

/// Strings, so that a partial result that is left behind is a leak. @p stop_at  the number that requests the
/// stop
static std::optional<std::string> letters(ws::pool &pool, int count, int stop_at, ws::stop_source &source,
                                          std::uint64_t grain, std::atomic<int> &calls)
{
  return ws::parallel_reduce(
      pool, 0, count, std::string(),
      [&, stop_at](int i) {
        calls++;
        if (i == stop_at)
          source.request_stop();
        return std::string(40, static_cast<char>('a' + i % 26));
      },
      std::plus<>(), source.get_token(), grain);
}

static void reduction_stops_between_numbers()
{
  std::atomic<int> calls{0};
  ws::pool alone(settings_of(0)), pool(settings_of(2));
  ws::stop_source source;
  const std::optional<std::string> all = letters(pool, 100, -1, source, 1, calls);
  CU_ASSERT_TRUE(all && all->size() == 4000 && all->substr(80, 40) == std::string(40, 'c'));
  CU_ASSERT_EQUAL(calls.exchange(0), 100);
  CU_ASSERT_FALSE(letters(alone, 1000, 10, source, 0, calls).has_value());
  CU_ASSERT_EQUAL(calls.exchange(0), 11);
  CU_ASSERT_FALSE(letters(pool, 1000, -1, source, 3, calls).has_value()); // requested before
  CU_ASSERT_EQUAL(calls, 0);
  const std::optional<std::string> none = letters(pool, 0, -1, source, 0, calls); // nothing to skip
  CU_ASSERT_TRUE(none && none->empty());
}

/// The last number requests the stop: none is skipped.
static void reduction_that_is_stopped_at_its_end_has_a_result()
{
  std::atomic<int> calls{0};
  ws::pool alone(settings_of(0));
  ws::stop_source source;
  const std::optional<std::string> all = letters(alone, 100, 99, source, 0, calls);
  CU_ASSERT_TRUE(all && all->size() == 4000);
}

static void callbacks_are_called_once()
{
  ws::stop_source source;
  int first = 0, second = 0, dropped = 0, late = 0, none = 0;
  std::thread::id on;
  const auto note = [&] {
    first++;
    on = std::this_thread::get_id();
  };
  ws::stop_callback one(source.get_token(), note);
  const ws::stop_callback two(source.get_token(), [&] { second++; });
  {
    const ws::stop_callback gone(source.get_token(), [&] { dropped++; });
  }
  const ws::stop_callback never(ws::stop_token(), [&] { none++; });
  CU_ASSERT_EQUAL(first + second, 0);
  std::thread asker([&] { source.request_stop(); });
  const std::thread::id asked_on = asker.get_id();
  asker.join();
  source.request_stop();
  const ws::stop_callback after(source.get_token(), [&] { late++; });
  CU_ASSERT_EQUAL(first, 1);
  CU_ASSERT_EQUAL(second, 1);
  CU_ASSERT_EQUAL(late, 1);
  CU_ASSERT_EQUAL(dropped + none, 0);
  CU_ASSERT(on == asked_on);
}

static void callback_may_destroy_itself_and_the_source()
{
  auto source = std::make_unique<ws::stop_source>();
  ws::stop_source *const asked = source.get();
  int calls = 0;
  struct holder {
    std::function<void()> body;
    void operator()() const { body(); }
  };
  std::optional<ws::stop_callback<holder>> own;
  int later = 0;
  const ws::stop_callback other(source->get_token(), [&] { later++; });
  own.emplace(source->get_token(), holder{[&] {
                calls++;
                source.reset();
                own.reset(); // the callable is gone: nothing of it may be used afterwards
              }});
  asked->request_stop();
  CU_ASSERT_EQUAL(calls, 1);
  CU_ASSERT_EQUAL(later, 1);
  CU_ASSERT_FALSE(own.has_value());
}

/// A thread destroys the callback while another one calls it: it waits for the end of the call.
static void end_of_a_callback_waits_for_its_call()
{
  ws::stop_source source;
  gate door;
  std::atomic<bool> ended{false}, saw{false}, begun{false};
  const auto body = [&] {
    door.stand();
    ended = true;
  };
  auto callback = std::make_unique<ws::stop_callback<decltype(body) &>>(source.get_token(), body);
  std::thread asker([&] { source.request_stop(); });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  std::thread destroyer([&] {
    begun = true;
    callback.reset();
    saw = ended.load();
  });
  while (!begun)
    std::this_thread::yield();
  door.let(1);
  destroyer.join();
  asker.join();
  CU_ASSERT_TRUE(saw);
}

/// One source stops keys of C++ and of C, too.
static void callbacks_cancel_keys()
{
  held_pool scene(1);
  ws::stop_source source;
  ws::key key;
  ws_key_t c_key;
  ws_key_init(&c_key);
  static std::atomic<int> skipped;
  std::atomic<int> ran{0};
  skipped = 0;
  ws_keyed_t task = {};
  task.key = &c_key;
  task.func = [](void *count) { (*static_cast<std::atomic<int> *>(count))++; };
  task.on_cancel = [](void *) { skipped++; };
  task.arg = &ran;
  std::int64_t cancelled = 0;
  const ws::stop_callback stops(
      source.get_token(), [&] { cancelled = key.cancel() + ws_pool_cancel(scene.pool.native(), &c_key); });
  ws::group group;
  for (int i = 0; i < 3; i++)
    group.run(
        scene.pool, [&ran] { ran++; }, key);
  CU_ASSERT_EQUAL(ws_pool_push_keyed(scene.pool.native(), &task), 0);
  source.request_stop();
  CU_ASSERT_EQUAL(cancelled, 4);
  scene.let();
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { group.wait(); }));
  scene.pool.wait();
  CU_ASSERT_EQUAL(ran, 0);
  CU_ASSERT_EQUAL(skipped, 1);
}

TEST_SUITE(stop, TEST_CASE(sources_and_tokens), TEST_CASE(stopped_submits_do_not_run),
           TEST_CASE(task_that_has_begun_ends), TEST_CASE(group_reports_skipped_tasks),
           TEST_CASE(loop_that_is_stopped_before_it_begins), TEST_CASE(loop_begins_no_further_call),
           TEST_CASE(loop_in_one_piece_stops_between_numbers), TEST_CASE(reduction_stops_between_numbers),
           TEST_CASE(reduction_that_is_stopped_at_its_end_has_a_result), TEST_CASE(callbacks_are_called_once),
           TEST_CASE(callback_may_destroy_itself_and_the_source),
           TEST_CASE(end_of_a_callback_waits_for_its_call), TEST_CASE(callbacks_cancel_keys))
