// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_coroutine.cpp
/// ws_coroutine.hpp: where coroutines continue, results, exceptions, skipped and refused steps, and that each
/// frame is destroyed. Built for C++20. No await stands in a conditional expression: GCC 12 miscompiles
/// those.
#include "../../include/ws_coroutine.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "cxx_fibers.hpp"

namespace {

/// Lives in the frames of coroutines: how many frames are left.
std::atomic<int> alive{0};
struct counted {
  counted() noexcept { alive++; }
  counted(const counted &) noexcept { alive++; }
  counted &operator=(const counted &) noexcept = default;
  ~counted() { alive--; }
};

bool frames_are_gone()
{
  const auto none = [](void *) { return alive == 0; };
  return test_until(none, nullptr);
}

ws::coroutine<int> worker_of(ws::pool &pool, counted = {})
{
  co_await pool;
  co_return ws_worker_index();
}

ws::coroutine<std::string> add(ws::pool &pool, std::thread::id outside, counted = {})
{
  std::string text = co_await pool.submit([] { return std::string("a"); });
  co_await pool;
  text += std::this_thread::get_id() == outside ? '!' : 'b';
  co_await ws::on(pool, ws::priority::high);
  text += ws_current_task()->priority == WS_PRIORITY_HIGH ? 'c' : '!';
  co_await ws::on_fiber(pool, {"co", WS_FIBER_STACK_BYTES});
  text += ws_fiber_name() ? ws_fiber_name() : "!";
  ws::future<int> ready = pool.submit([] { return 1; });
  ready.wait();
  const int one = co_await std::move(ready);
  const int worker = co_await worker_of(pool);
  co_return text + std::to_string(one) + (worker >= 0 ? 'd' : '!');
}

void coroutines_continue_on_pools()
{
  ws::pool pool(settings_of(2));
  CU_ASSERT_EQUAL(ws::start(pool, add(pool, std::this_thread::get_id()), ws::priority::low).get(), "abcco1d");
  CU_ASSERT_TRUE(frames_are_gone());
}

ws::coroutine<long> same(long value)
{
  co_return value;
}

/// A loop of awaits that are ready, and a chain of coroutines: no stack grows.
ws::coroutine<long> sum_to(long n, counted = {})
{
  long sum = 0;
  for (long i = 1; i <= n; i++)
    sum += co_await same(i);
  co_return sum;
}
ws::coroutine<long> depth(long n, counted = {})
{
  if (n == 0)
    co_return 0;
  const long below = co_await depth(n - 1);
  co_return below + 1;
}

void coroutines_call_each_other()
{
  ws::pool pool(settings_of(1));
  CU_ASSERT_EQUAL(ws::start(pool, sum_to(1000)).get(), 500500);
  CU_ASSERT_EQUAL(ws::start(pool, depth(500)).get(), 500);
  CU_ASSERT_TRUE(frames_are_gone());
}

ws::coroutine<long> laps(ws::pool &pool, long rounds)
{
  long done = 0;
  for (; done < rounds; done++)
    co_await pool;
  co_return done;
}
ws::coroutine<long> next_of(ws::future<long> before, counted = {})
{
  const long value = co_await std::move(before);
  co_return value + 1;
}

/// @brief Call @p body in a fiber, whose stack is small.
template <typename Body>
void in_fiber(ws::pool &pool, Body &&body)
{
  pool.submit([&](ws::context &) { body(); }).get();
}

/// Coroutines that continue each other, in all ways, also in a build without optimisation.
void no_stack_grows_with_the_steps()
{
  constexpr long STEPS = 3000;
  ws::pool pool(settings_of(1)), inside(settings_of(0));
  in_fiber(pool, [&] { CU_ASSERT_EQUAL(ws::start(inside, sum_to(STEPS)).get(), STEPS * (STEPS + 1) / 2); });
  in_fiber(pool, [&] { CU_ASSERT_EQUAL(ws::start(inside, laps(inside, STEPS)).get(), STEPS); });
  ws::promise<long> first;
  ws::future<long> last = first.get_future();
  for (long i = 0; i < STEPS; i++)
    last = ws::start(pool, next_of(std::move(last)));
  pool.wait(); // all of them wait
  in_fiber(pool, [&] { first.set_value(0); });
  CU_ASSERT_EQUAL(last.get(), STEPS);
  CU_ASSERT_TRUE(frames_are_gone());
}

ws::coroutine<int> passes(ws::future<int> from, ws::promise<int> to)
{
  const int value = co_await std::move(from);
  to.set_value(value + 1);
  co_return 0;
}
ws::coroutine<int> asks(ws::future<int> from, ws::promise<int> question, ws::future<int> answer)
{
  const int value = co_await std::move(from);
  question.set_value(value);
  co_return answer.get(); // blocks
}

/// A coroutine blocks for one that it has made ready, and that is queued behind it.
void a_wait_runs_what_is_queued()
{
  ws::pool pool(settings_of(1));
  const auto set = [&](bool fiber) {
    ws::promise<int> first, answer;
    ws::future<int> from = first.get_future();
    std::vector<ws::future<int>> ends;
    for (int i = 0; i < WS_STEPS_NESTED_MAX; i++) {
      ws::promise<int> to;
      ws::future<int> next = to.get_future();
      ends.push_back(ws::start(pool, passes(std::move(from), std::move(to))));
      from = std::move(next);
    }
    ws::promise<int> question;
    ws::future<int> asked = question.get_future(), answered = answer.get_future();
    ends.push_back(ws::start(pool, passes(std::move(asked), std::move(answer))));
    ws::future<int> result = ws::start(pool, asks(std::move(from), std::move(question), std::move(answered)));
    pool.wait();
    if (fiber)
      in_fiber(pool, [&] { first.set_value(0); });
    else
      first.set_value(0);
    CU_ASSERT_EQUAL(result.get(), WS_STEPS_NESTED_MAX + 1);
    for (ws::future<int> &end : ends)
      end.get();
  };
  set(false);
  set(true);
}

ws::coroutine<int &> reference_to(int &place)
{
  co_return place;
}
ws::coroutine<std::unique_ptr<int>> moves(std::unique_ptr<int> value)
{
  co_return std::move(value);
}

void results_of_all_kinds()
{
  ws::pool pool(settings_of(1));
  int place = 0;
  CU_ASSERT_PTR_EQUAL(&ws::start(pool, reference_to(place)).get(), &place);
  CU_ASSERT_EQUAL(*ws::start(pool, moves(std::make_unique<int>(4))).get(), 4);
  ws::future<int> next =
      ws::start(pool, moves(std::make_unique<int>(5))).then(pool, [](std::unique_ptr<int> value) {
        return *value + 1;
      });
  CU_ASSERT_EQUAL(next.get(), 6);
}

ws::coroutine<int> fails(ws::pool &pool, bool before, counted = {})
{
  if (before)
    throw std::runtime_error("before");
  co_await pool.submit([] { throw std::logic_error("in a task"); });
  co_return 1;
}
ws::coroutine<int> catches(ws::pool &pool, counted = {})
{
  int caught = 0;
  try {
    co_await fails(pool, true);
  } catch (const std::runtime_error &) {
    caught++;
  }
  try {
    co_await fails(pool, false);
  } catch (const std::logic_error &) {
    caught++;
  }
  co_return caught;
}

void exceptions_go_to_who_awaits()
{
  ws::pool pool(settings_of(2));
  CU_ASSERT_EQUAL(ws::start(pool, catches(pool)).get(), 2);
  ws::future<int> failed = ws::start(pool, fails(pool, true));
  pool.wait(); // thread sanitizer does not see libstdc++'s count of who holds an exception
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { failed.get(); }));
  CU_ASSERT_TRUE(frames_are_gone());
}

/// Continues in a fiber, so a lock there parks.
ws::coroutine<int> joins(ws::pool &pool, ws_gate_t &gate, counted = {})
{
  ws::group group;
  std::atomic<int> ran{0};
  co_await group; // empty
  for (int i = 0; i < 10; i++)
    group.run(pool, [&ran] { ran++; });
  const bool all = co_await group;
  for (int i = 0; i < 10; i++)
    group.run(pool, [&ran](ws::context &context) {
      context.yield();
      ran++;
    });
  co_await group;
  const bool in_fiber = ws_fiber_self() != nullptr;
  ws_gate_wait(&gate);
  group.run(pool, [] { throw std::runtime_error("of the group"); });
  try {
    co_await group;
  } catch (const std::runtime_error &) {
    co_return all &&in_fiber ? ran.load() : -1;
  }
  co_return - 2;
}

void groups_are_awaited()
{
  ws::pool pool(settings_of(1));
  ws_gate_t gate = WS_GATE_INIT;
  ws::future<int> first = ws::start(pool, joins(pool, gate)), second = ws::start(pool, joins(pool, gate));
  CU_ASSERT_TRUE(await_parked(2)); // the one worker is free
  ws_gate_open(&gate);
  CU_ASSERT_EQUAL(first.get(), 20);
  CU_ASSERT_EQUAL(second.get(), 20);
  CU_ASSERT_TRUE(frames_are_gone());
}

ws::coroutine<int> hops(ws::pool &from, ws::pool &to, std::atomic<int> &outcome, counted = {})
{
  co_await from;
  try {
    co_await to;
    outcome = 1;
  } catch (const ws::cancelled &) {
    outcome = 2;
  } catch (const std::system_error &error) {
    outcome = error.code().value();
  }
  co_return outcome.load();
}

void refused_and_skipped_steps_throw()
{
  ws::pool pool(settings_of(1));
  std::atomic<int> outcome{0};
  {
    held_pool held(1);
    ws::future<int> skipped = ws::start(pool, hops(pool, held.pool, outcome));
    const auto is_queued = [](void *of) {
      ws_stats_t stats;
      ws_pool_stats(static_cast<held_pool *>(of)->pool.native(), &stats, nullptr, 0);
      return stats.queued_tasks == 1;
    };
    CU_ASSERT_TRUE(test_until(is_queued, &held));
    std::thread stopper([&] { held.pool.stop(WS_STOP_ABORT); });
    CU_ASSERT_EQUAL(skipped.get(), 2);
    held.let();
    stopper.join();
    CU_ASSERT_EQUAL(ws::start(pool, hops(pool, held.pool, outcome)).get(), ECANCELED);
    ws::future<int> refused = ws::start(held.pool, hops(pool, pool, outcome));
    CU_ASSERT_EQUAL(error_of([&] { refused.get(); }), ECANCELED);
  }
  CU_ASSERT_TRUE(frames_are_gone());
}

/// A coroutine that was not started, and one whose frame goes while it waits for a future.
ws::coroutine<int> waits(ws::future<int> future, counted = {})
{
  co_return co_await std::move(future);
}
struct by_hand {
  struct promise_type {
    by_hand get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};
by_hand run_by_hand(ws::future<int> future, counted = {})
{
  co_await waits(std::move(future));
}

void frames_may_go_early()
{
  ws::promise<int> never, later;
  {
    const ws::coroutine<int> unused = waits(never.get_future());
    CU_ASSERT_EQUAL(alive, 1);
  }
  CU_ASSERT_EQUAL(alive, 0);
  const by_hand waiting = run_by_hand(later.get_future());
  CU_ASSERT(alive >= 2);
  CU_ASSERT_FALSE(waiting.handle.done());
  waiting.handle.destroy();
  CU_ASSERT_EQUAL(alive, 0);
  later.set_value(1); // continues nothing
}

/// Many coroutines, results at the same moment as the awaits.
ws::coroutine<int> hurries(ws::pool &pool, int rounds, counted = {})
{
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    sum += co_await pool.submit([] { return 1; });
    if (i % 8 == 0)
      co_await pool;
  }
  co_return sum;
}

void many_coroutines_at_once()
{
  constexpr int COUNT = 50, ROUNDS = 100;
  ws::pool pool(settings_of(3));
  std::vector<ws::future<int>> results;
  for (int i = 0; i < COUNT; i++)
    results.push_back(ws::start(pool, hurries(pool, ROUNDS)));
  int sum = 0;
  for (ws::future<int> &result : results)
    sum += result.get();
  CU_ASSERT_EQUAL(sum, COUNT * ROUNDS);
  CU_ASSERT_TRUE(frames_are_gone());
}

} // namespace

TEST_SUITE(coroutine, TEST_CASE(coroutines_continue_on_pools), TEST_CASE(coroutines_call_each_other),
           TEST_CASE(no_stack_grows_with_the_steps), TEST_CASE(a_wait_runs_what_is_queued),
           TEST_CASE(results_of_all_kinds), TEST_CASE(exceptions_go_to_who_awaits),
           TEST_CASE(groups_are_awaited), TEST_CASE(refused_and_skipped_steps_throw),
           TEST_CASE(frames_may_go_early), TEST_CASE(many_coroutines_at_once))
