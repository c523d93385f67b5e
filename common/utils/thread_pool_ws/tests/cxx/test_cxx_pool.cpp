// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_pool.cpp
/// ws::pool and ws::key: creation, moves, the end, hints, what becomes of tasks that do not run, cancels.

#include "cxx_ways.hpp"

static_assert(!std::is_copy_constructible_v<ws::pool> && std::is_nothrow_move_assignable_v<ws::pool>);

CASE(bad_settings_are_named)
{
  ws_settings_t settings = settings_of(1);
  settings.queue_capacity = 1;
  std::string text;
  try {
    ws::pool pool(settings);
  } catch (const std::system_error &error) {
    CU_ASSERT_EQUAL(error.code().value(), EINVAL);
    text = error.what();
  }
  CU_ASSERT_TRUE(text.find("queue_capacity = 1 is out of range") != std::string::npos);
  CU_ASSERT_EQUAL(test_warnings_with("queue_capacity"), 1); // the user's own function is called as well
  CU_ASSERT_EQUAL(end_of([] { ws::pool pool(1000000u); }), EINVAL);
  ws::pool of_default, three(3);
  CU_ASSERT_EQUAL(of_default.submit([] { return 7; }).get(), 7);
  CU_ASSERT_EQUAL(test_stats(three.native()).workers, 3);
}

POOL_CASE(each_way_runs_with_its_hint, 1)
{
  const ws::hint hints[] = {{}, ws::priority::high, ws::priority::low, ws::node{1}, ws::node{-1}};
  for (int round = 0; round < 20; round++)
    for (const ws::hint &with : hints)
      CU_ASSERT_TRUE(all_end_with(0, pool, give, with));
  CU_ASSERT_EQUAL(hints[3].on({}).node, ws_node_hint(1));
  CU_ASSERT_EQUAL(hints[4].on({}).node, WS_NODE_ANY);
  CU_ASSERT_TRUE(ws::node_of(hints).number < static_cast<int>(ws_node_count()));
}

CASE(tasks_that_do_not_run)
{
  ws_settings_t settings = settings_of(1);
  settings.queue_capacity = 4;
  settings.full = WS_FULL_FAIL;
  held_pool full(1, settings), aborted(1);
  while (full.pool.try_push([] {}) == 0)
    ;
  CU_ASSERT_TRUE(all_end_with(EAGAIN, full.pool, give));
  CU_ASSERT_TRUE(
      all_end_with(SKIPPED, aborted.pool, give, {}, [&] { CU_ASSERT(aborted.abort() >= ALL_WAYS); }));
  CU_ASSERT_TRUE(all_end_with(ECANCELED, aborted.pool, give));
}

CASE(pools_move)
{
  std::atomic<int> ran{0};
  std::vector<ws::pool> pools;
  for (int i = 0; i < 3; i++)
    pools.emplace_back(settings_of(1));
  ws_pool_t *native = pools[0].native();
  for (ws::pool &pool : pools)
    for (int i = 0; i < 100; i++)
      pool.push([&ran] { ran++; });
  ws::pool moved = std::move(pools[0]);
  CU_ASSERT_PTR_EQUAL(moved.native(), native);
  CU_ASSERT_PTR_NULL(pools[0].native());
  CU_ASSERT_TRUE(all_end_with(EINVAL, pools[0], give));
  CU_ASSERT_EQUAL(end_of([&] { pools[0].wait(); }), EINVAL);
  moved = std::move(pools[1]); // the pool that was there drains
  CU_ASSERT_TRUE(ran >= 100);
  pools.clear();
  moved.wait();
  CU_ASSERT_EQUAL(ran, 300);
}

static void count_ends(void *ended, const ws_observation_t *of)
{
  *static_cast<std::atomic<int> *>(ended) += of->what == WS_OBSERVED_STOP;
}

/// What the task owns is the pool itself.
CASE(the_last_reference_goes_in_a_task)
{
  for (int how = 0; how < ALL_WAYS; how++) {
    std::atomic<int> ended{0};
    ws_settings_t settings = settings_of(1);
    settings.observer = count_ends;
    settings.observer_arg = &ended;
    gate door;
    seen written;
    given task;
    auto pool = std::make_shared<ws::pool>(settings);
    pool->push([&door] { door.stand(); });
    CU_ASSERT_TRUE_FATAL(door.await(1));
    ws::pool &of = *pool;
    give(task, how, of, std::shared_ptr<seen>(&written, [last = std::move(pool)](seen *) {}), {});
    CU_ASSERT_EQUAL(ended, 0);
    door.let(1);
    const auto has_ended = [](void *count) { return *static_cast<std::atomic<int> *>(count) == 1; };
    CU_ASSERT_TRUE(test_until(has_ended, &ended));
    CU_ASSERT_EQUAL(end_of([&] { task.wait(how); }), 0);
    CU_ASSERT_EQUAL(written.ran, 1);
  }
}

/// The child ends as a program ends whose pools are static: they are destroyed in exit().
FORK_CASE(a_child_of_fork_leaves_the_pool)
{
  const auto leave = [](void *of) {
    auto *parents = static_cast<ws::pool *>(of);
    const bool all_refused = all_end_with(ESRCH, *parents, give);
    const int wait = end_of([&] { parents->wait(); });
    delete parents;
    return all_refused && wait == ESRCH ? 42 : 1;
  };
  auto *pool = new ws::pool(settings_of(2));
  pool->submit([] {}).get();
  CU_ASSERT_EQUAL(test_in_child(leave, pool), 42);
  pool->submit([] {}).get();
  delete pool;
}

CASE(pool_waits_have_limits)
{
  held_pool scene(1);
  int inside = 0;
  scene.pool.push([&] { inside = end_of([&] { scene.pool.wait(); }); });
  CU_ASSERT_TRUE(ends_at_limits(TIMED(scene.pool.wait, limit)));
  scene.let();
  CU_ASSERT_TRUE(ends_within_limits(TIMED(scene.pool.wait, limit)));
  CU_ASSERT_EQUAL(inside, EDEADLK);
  scene.pool.push([&] { inside += end_of([&] { scene.pool.wait_for(1h); }); });
  scene.pool.wait();
  CU_ASSERT_EQUAL(inside, 2 * EDEADLK);
}

/// Tasks that have begun, were refused, aborted or cancelled by their future do not count.
CASE(a_key_counts_what_would_run)
{
  ws::key key;
  held_pool scene(1);
  ws::group group;
  int ran = 0;
  std::uint32_t when_begun = 1;
  const auto count = [&ran] { ran++; };
  const auto cancel = [&] { when_begun = key.cancel(); };
  CU_ASSERT_EQUAL(key.cancel(), 0);
  ws::future<int> kept = scene.pool.submit([] { return 1; }, key);
  ws::future<int> dropped = scene.pool.submit([] { return 2; }, key);
  ws::future<int> other = scene.pool.submit([] { return 3; });
  for (int i = 0; i < 5; i++)
    group.run(scene.pool, count, key);
  CU_ASSERT_TRUE(dropped.cancel());
  CU_ASSERT_EQUAL(key.cancel(), 6);
  CU_ASSERT_EQUAL(key.cancel(), 0);
  group.run(scene.pool, cancel, key); // it can be used again
  CU_ASSERT_EQUAL(end_of([&] { group.wait(); }), SKIPPED);
  CU_ASSERT_EQUAL(ran, 0);
  CU_ASSERT_EQUAL(when_begun, 0);
  CU_ASSERT_EQUAL(end_of([&] { scene.pool.get(kept); }), SKIPPED);
  CU_ASSERT_EQUAL(scene.pool.get(other), 3);
  ws::future<int> aborted = scene.pool.submit([] { return 4; }, key);
  scene.abort();
  ws::future<int> refused = scene.pool.submit([] { return 5; }, key);
  CU_ASSERT_EQUAL(key.cancel(), 0);
}

CASE(a_future_cancels_its_task)
{
  held_pool scene(1);
  auto owned = std::make_shared<int>(1);
  ws::future<void> future = scene.pool.submit([owned] { (*owned)++; });
  ws::future<int> begun = scene.pool.submit([&] {
    scene.door.stand();
    return *owned;
  });
  CU_ASSERT_TRUE(future.cancel());
  CU_ASSERT_EQUAL(owned.use_count(), 1); // the callable is gone
  CU_ASSERT_FALSE(future.cancel());
  CU_ASSERT_EQUAL(end_of([&] { future.get(); }), SKIPPED);
  CU_ASSERT_FALSE(future.cancel() || ws::future<int>().cancel());
  scene.let();
  CU_ASSERT_TRUE_FATAL(scene.door.await(1));
  CU_ASSERT_FALSE(begun.cancel());
  scene.door.let(1);
  CU_ASSERT_EQUAL(begun.get(), 1);
  CU_ASSERT_FALSE(begun.cancel());
}

/// Tasks begin and are cancelled at once: each runs, or is cancelled by one call.
POOL_CASE(cancels_race_with_begins, 2)
{
  constexpr int JOBS = 5000;
  ws::key key;
  std::atomic<int> ran{0}, over{0};
  std::uint64_t by_key = 0, by_future = 0, skipped = 0;
  std::thread canceller([&] {
    while (!over)
      by_key += key.cancel();
  });
  std::vector<ws::future<void>> futures;
  for (int i = 0; i < JOBS; i++) {
    futures.push_back(pool.submit([&ran] { ran++; }, key));
    if (i % 3 == 0)
      by_future += futures[static_cast<std::size_t>(i - i % 16)].cancel() ? 1 : 0;
  }
  pool.wait();
  over = 1;
  canceller.join();
  for (ws::future<void> &future : futures)
    skipped += end_of([&future] { future.get(); }) == SKIPPED ? 1 : 0;
  CU_ASSERT_EQUAL(ran + static_cast<int>(skipped), JOBS);
  CU_ASSERT_EQUAL(skipped, by_key + by_future);
}
