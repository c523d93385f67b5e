// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_coroutine.cpp
/// ws_coroutine.hpp: where coroutines continue, results, exceptions, skipped and refused steps, and that each
/// frame is destroyed. No await stands in a conditional expression: GCC 12 miscompiles those.
#include <coroutine>

#include "../../include/ws_coroutine.hpp"

#include "../../include/ws_sync.hpp"
#include "cxx_scene.hpp"

namespace {

/// Each frame has an object that is counted: none is left when a future is ready.
ws::coroutine<int> worker_of(ws::pool &pool, watched = {})
{
  co_await pool;
  co_return ws_worker_index();
}

ws::coroutine<std::string> add(ws::pool &pool, std::thread::id outside, watched = {})
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

POOL_CASE(coroutines_continue_on_pools, 2)
{
  CU_ASSERT_EQUAL(ws::start(pool, add(pool, std::this_thread::get_id()), ws::priority::low).get(), "abcco1d");
  CU_ASSERT_EQUAL(watched::alive, 0);
}

ws::coroutine<long> same(long value)
{
  co_return value;
}
/// A loop of awaits that are ready.
ws::coroutine<long> sum_to(long n, watched = {})
{
  long sum = 0;
  for (long i = 1; i <= n; i++)
    sum += co_await same(i);
  co_return sum;
}
ws::coroutine<long> depth(long n, watched = {})
{
  if (n == 0)
    co_return 0;
  const long below = co_await depth(n - 1);
  co_return below + 1;
}
ws::coroutine<long> laps(ws::pool &pool, long rounds)
{
  long done = 0;
  for (; done < rounds; done++)
    co_await pool;
  co_return done;
}
ws::coroutine<long> next_of(ws::future<long> before, watched = {})
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
CASE(no_stack_grows_with_the_steps)
{
  constexpr long STEPS = 3000;
  ws::pool pool(settings_of(1)), inside(settings_of(0));
  in_fiber(pool, [&] { CU_ASSERT_EQUAL(ws::start(inside, sum_to(STEPS)).get(), STEPS * (STEPS + 1) / 2); });
  in_fiber(pool, [&] { CU_ASSERT_EQUAL(ws::start(inside, depth(STEPS)).get(), STEPS); });
  in_fiber(pool, [&] { CU_ASSERT_EQUAL(ws::start(inside, laps(inside, STEPS)).get(), STEPS); });
  ws::promise<long> first;
  ws::future<long> last = first.get_future();
  for (long i = 0; i < STEPS; i++)
    last = ws::start(pool, next_of(std::move(last)));
  pool.wait(); // all of them wait
  in_fiber(pool, [&] { first.set_value(0); });
  CU_ASSERT_EQUAL(last.get(), STEPS);
  CU_ASSERT_EQUAL(watched::alive, 0);
}

/// Pushes steps in each way but for a group's fiber.
ws::coroutine<int> steps_of(ws::pool &pool, watched = {})
{
  co_await pool;
  co_await ws::on(pool, ws::priority::low);
  const int worker = co_await worker_of(pool);
  co_await ws::on_fiber(pool);
  co_return ws_fiber_name() ? worker : -1;
}

/// It is the only worker, and runs no other task meanwhile.
POOL_CASE(a_task_runs_the_steps_that_it_waits_for, 1)
{
  int unrelated = 0;
  ws::future<int> waits = pool.submit([&] {
    pool.push([&] { unrelated++; });
    const int worker = ws::start(pool, steps_of(pool)).get();
    return worker + 10 * unrelated;
  });
  CU_ASSERT_EQUAL(waits.get(), 0);
  CU_ASSERT_EQUAL(watched::alive, 0);
  pool.wait(); // the unrelated task needs its variable
  CU_ASSERT_EQUAL(unrelated, 1);
}

ws::coroutine<int &> reference_to(int &place)
{
  co_return place;
}
ws::coroutine<std::unique_ptr<int>> moves(std::unique_ptr<int> value)
{
  co_return std::move(value);
}
ws::coroutine<> adds(int &place)
{
  place++;
  co_return;
}

POOL_CASE(results_of_all_kinds, 1)
{
  int place = 0;
  CU_ASSERT_PTR_EQUAL(&ws::start(pool, reference_to(place)).get(), &place);
  ws::start(pool, adds(place)).get();
  CU_ASSERT_EQUAL(place, 1);
  const auto next = [](std::unique_ptr<int> value) { return *value + 1; };
  CU_ASSERT_EQUAL(ws::start(pool, moves(std::make_unique<int>(5))).then(pool, next).get(), 6);
}

ws::coroutine<int> fails(ws::pool &pool, bool before, watched = {})
{
  if (before)
    throw std::runtime_error("before");
  co_await pool.submit([] { throw std::runtime_error("in a task"); });
  co_return 1;
}
ws::coroutine<std::string> catches(ws::pool &pool, bool before, watched = {})
{
  try {
    co_await fails(pool, before);
  } catch (const std::runtime_error &error) {
    co_return error.what();
  }
  co_return "none";
}

POOL_CASE(exceptions_go_to_who_awaits, 2)
{
  CU_ASSERT_EQUAL(ws::start(pool, catches(pool, true)).get(), "before");
  CU_ASSERT_EQUAL(ws::start(pool, catches(pool, false)).get(), "in a task");
  ws::future<int> failed = ws::start(pool, fails(pool, true));
  pool.wait(); // thread sanitizer does not see libstdc++'s count of who holds an exception
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { failed.get(); }));
  CU_ASSERT_EQUAL(watched::alive, 0);
}

/// Continues in a fiber, so a wait there parks.
ws::coroutine<int> joins(ws::pool &pool, ws::latch &latch, watched = {})
{
  ws::group group;
  std::atomic<int> ran{0};
  co_await group; // empty
  for (int i = 0; i < 10; i++) {
    group.run(pool, [&ran] { ran++; });
    group.run(pool, [&ran](ws::context &context) {
      context.yield();
      ran++;
    });
  }
  const bool all = co_await group;
  latch.wait();
  group.run(pool, [] { throw std::runtime_error("of the group"); });
  try {
    co_await group;
  } catch (const std::runtime_error &) {
    co_return all ? ran.load() : -1;
  }
  co_return - 2;
}

POOL_CASE(groups_are_awaited, 1)
{
  ws::latch latch(1);
  ws::future<int> first = ws::start(pool, joins(pool, latch)), second = ws::start(pool, joins(pool, latch));
  CU_ASSERT_TRUE(await_parked(2)); // the one worker is free
  latch.count_down();
  CU_ASSERT_EQUAL(first.get(), 20);
  CU_ASSERT_EQUAL(second.get(), 20);
  CU_ASSERT_EQUAL(watched::alive, 0);
}

ws::coroutine<int> hops(ws::pool &from, ws::pool &to, watched = {})
{
  co_await from;
  co_await to;
  co_return 1;
}

POOL_CASE(refused_and_skipped_steps_throw, 1)
{
  held_pool held(1);
  ws::future<int> skipped = ws::start(pool, hops(pool, held.pool));
  const auto is_queued = [](void *of) { return test_stats(static_cast<ws_pool_t *>(of)).queued_tasks == 1; };
  CU_ASSERT_TRUE(test_until(is_queued, held.pool.native()));
  held.abort();
  CU_ASSERT_EQUAL(end_of([&] { skipped.get(); }), SKIPPED);
  CU_ASSERT_EQUAL(end_of([&] { ws::start(pool, hops(pool, held.pool)).get(); }), ECANCELED);
  CU_ASSERT_EQUAL(end_of([&] { ws::start(held.pool, hops(pool, pool)).get(); }), ECANCELED);
  CU_ASSERT_EQUAL(watched::alive, 0);
}

/// A coroutine that was not started, and one whose frame goes while it waits for a future.
ws::coroutine<int> waits(ws::future<int> future, watched = {})
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
by_hand run_by_hand(ws::future<int> future, watched = {})
{
  co_await waits(std::move(future));
}

CASE(frames_may_go_early)
{
  ws::promise<int> never, later;
  {
    const ws::coroutine<int> unused = waits(never.get_future());
    CU_ASSERT_TRUE(unused && watched::alive == 1);
  }
  CU_ASSERT_EQUAL(watched::alive, 0);
  const by_hand waiting = run_by_hand(later.get_future());
  CU_ASSERT(watched::alive >= 2);
  CU_ASSERT_FALSE(waiting.handle.done());
  waiting.handle.destroy();
  CU_ASSERT_EQUAL(watched::alive, 0);
  later.set_value(1); // continues nothing
}

/// Results at the same moment as the awaits.
ws::coroutine<int> hurries(ws::pool &pool, watched = {})
{
  int sum = 0;
  for (int i = 0; i < 100; i++)
    sum += co_await pool.submit([] { return 1; });
  co_return sum;
}

POOL_CASE(many_coroutines_at_once, 3)
{
  std::vector<ws::future<int>> results;
  for (int i = 0; i < 50; i++)
    results.push_back(ws::start(pool, hurries(pool)));
  for (ws::future<int> &result : results)
    CU_ASSERT_EQUAL(result.get(), 100);
  CU_ASSERT_EQUAL(watched::alive, 0);
}

ws::coroutine<> awaits_twice()
{
  ws::coroutine<long> once = same(1);
  co_await std::move(once);
  co_await std::move(once);
}

DEATHS(misuse_ends_the_process,
       {"co_await of a ws::coroutine: it was awaited before",
        [](ws::pool &pool) { ws::start(pool, awaits_twice()).get(); }},
       {"ws::start: the coroutine was awaited before",
        [](ws::pool &pool) { ws::start(pool, ws::coroutine<int>()); }})

} // namespace
