// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_stop.cpp
/// Requests to stop: what has not begun does not run. Built for C++17, with the tokens of ws_stop.hpp, and
/// for C++20, with those of the standard library.
#include "cxx_scene.hpp"

static_assert(WS_STD_STOP == (__cplusplus >= 202002L), "this build tests the other kind of token");

CASE(sources_and_tokens)
{
  ws::stop_source source;
  const ws::stop_source copy = source;
  const ws::stop_token token = copy.get_token(), none;
  CU_ASSERT_FALSE(token.stop_requested());
  CU_ASSERT_TRUE(token.stop_possible());
  CU_ASSERT_FALSE(none.stop_possible());
  CU_ASSERT_TRUE(source.request_stop());
  CU_ASSERT_FALSE(source.request_stop()); // the second request
  CU_ASSERT_TRUE(token.stop_requested() && copy.stop_requested() && source.stop_requested());
  CU_ASSERT_FALSE(none.stop_requested());
}

CASE(what_has_begun_ends)
{
  held_pool scene(1);
  ws::stop_source source;
  int ran = 0;
  const auto stand = [&] {
    scene.door.stand();
    return 4;
  };
  ws::future<int> begun = scene.pool.submit(stand, source.get_token());
  ws::future<int> stopped = scene.pool.submit([&ran] { return ++ran; }, source.get_token());
  ws::future<int> other = scene.pool.submit([] { return 3; }, ws::stop_token());
  scene.let();
  CU_ASSERT_TRUE_FATAL(scene.door.await(1));
  source.request_stop();
  scene.door.let(1);
  CU_ASSERT_EQUAL(begun.get(), 4);
  CU_ASSERT_EQUAL(end_of([&] { stopped.get(); }), SKIPPED);
  CU_ASSERT_EQUAL(other.get(), 3);
  CU_ASSERT_EQUAL(ran, 0);
}

CASE(loop_stops_between_numbers)
{
  ws::pool pool(settings_of(1)), alone(settings_of(0));
  ws::stop_source source;
  std::atomic<int> calls{0};
  const auto call = [&](int i) {
    calls++;
    if (i == 9)
      source.request_stop();
  };
  CU_ASSERT_TRUE(ws::parallel_for(pool, 0, 100, call, ws::stop_token()) && calls.exchange(0) == 100);
  source = ws::stop_source();
  CU_ASSERT_TRUE(!ws::parallel_for(alone, 0, 1000, call, source.get_token()) && calls == 10); // in one piece
  CU_ASSERT_TRUE(!ws::parallel_for(pool, 0, 1000, call, source.get_token(), 3) && calls == 10);
  CU_ASSERT_TRUE(ws::parallel_for(pool, 0, 0, call, source.get_token())); // nothing to skip
}

/// Strings, so that a partial result that is left behind is a leak.
CASE(reduction_stops_between_numbers)
{
  ws::pool alone(settings_of(0)), pool(settings_of(2));
  ws::stop_source source, at_the_end;
  std::atomic<int> calls{0};
  const auto letters = [&](ws::pool &in, int count, int stop_at, ws::stop_source &of) {
    const auto map = [&, stop_at](int i) {
      calls++;
      if (i == stop_at)
        of.request_stop();
      return std::string(40, static_cast<char>('a' + i % 26));
    };
    calls = 0;
    return ws::parallel_reduce(in, 0, count, std::string(), map, std::plus<>(), of.get_token(), 1);
  };
  std::optional<std::string> all = letters(pool, 100, -1, source);
  CU_ASSERT_TRUE(all && all->size() == 4000 && all->substr(80, 40) == std::string(40, 'c') && calls == 100);
  CU_ASSERT_TRUE(!letters(alone, 1000, 10, source) && calls == 11);
  CU_ASSERT_TRUE(!letters(pool, 1000, -1, source) && calls == 0); // requested before
  all = letters(pool, 0, -1, source); // nothing to skip
  CU_ASSERT_TRUE(all && all->empty());
  all = letters(alone, 100, 99, at_the_end); // no number is skipped
  CU_ASSERT_TRUE(all && all->size() == 4000);
}

CASE(callbacks_are_called_once)
{
  ws::stop_source source;
  int first = 0, second = 0, dropped = 0, late = 0, none = 0;
  std::thread::id on;
  const ws::stop_callback one(source.get_token(), [&] {
    first++;
    on = std::this_thread::get_id();
  });
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
  CU_ASSERT_TRUE(first == 1 && second == 1 && late == 1 && dropped + none == 0);
  CU_ASSERT(on == asked_on);
}

CASE(callback_may_destroy_itself_and_the_source)
{
  auto source = std::make_unique<ws::stop_source>();
  ws::stop_source *const asked = source.get();
  struct holder {
    std::function<void()> body;
    void operator()() const { body(); }
  };
  std::optional<ws::stop_callback<holder>> own;
  int calls = 0, later = 0;
  const ws::stop_callback other(source->get_token(), [&] { later++; });
  own.emplace(source->get_token(), holder{[&] {
                calls++;
                source.reset();
                own.reset(); // the callable is gone: nothing of it may be used afterwards
              }});
  asked->request_stop();
  CU_ASSERT_EQUAL(calls, 1);
  CU_ASSERT_EQUAL(later, 1);
}

/// A thread destroys the callback while another one calls it: it waits for the end of the call.
CASE(end_of_a_callback_waits_for_its_call)
{
  ws::stop_source source;
  gate door;
  std::atomic<bool> ended{false}, saw{false};
  const auto body = [&] {
    door.stand();
    ended = true;
  };
  auto callback = std::make_unique<ws::stop_callback<decltype(body) &>>(source.get_token(), body);
  std::thread asker([&] { source.request_stop(); });
  CU_ASSERT_TRUE_FATAL(door.await(1));
  std::thread destroyer([&] {
    callback.reset();
    saw = ended.load();
  });
  CU_ASSERT_TRUE(test_until([](void *) { return test_others_sleep(); }, nullptr));
  door.let(1);
  destroyer.join();
  asker.join();
  CU_ASSERT_TRUE(saw);
}
