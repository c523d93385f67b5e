// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_pool.cpp
/// ws::pool: creation, moves, the user's own functions, and misuse that is reported.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "cxx_scene.hpp"

static void bad_settings_are_named()
{
  ws_settings_t settings = settings_of(1);
  settings.queue_capacity = 1;
  std::string text;
  int code = 0;
  try {
    ws::pool pool(settings);
  } catch (const std::system_error &error) {
    text = error.what();
    code = error.code().value();
  }
  CU_ASSERT_EQUAL(code, EINVAL);
  CU_ASSERT_TRUE(text.find("queue_capacity = 1 is out of range") != std::string::npos);
  CU_ASSERT_EQUAL(test_warnings_with("queue_capacity"), 1); // the user's own function is called as well
  CU_ASSERT_EQUAL(error_of([] { ws::pool pool(1000000u); }), EINVAL);
}

static void number_of_workers()
{
  ws::pool pool(3);
  CU_ASSERT_EQUAL(test_stats(pool.native()).workers, 3);
  CU_ASSERT_EQUAL(pool.submit([] { return ws_worker_index(); }).get() / 3, 0);
}

static void pools_move()
{
  std::atomic<int> ran{0};
  std::vector<ws::pool> pools;
  for (int i = 0; i < 3; i++)
    pools.emplace_back(settings_of(1));
  ws_pool_t *native = pools[0].native();
  for (ws::pool &pool : pools)
    pool.push([&ran] { ran++; });
  ws::pool moved = std::move(pools[0]);
  CU_ASSERT_PTR_EQUAL(moved.native(), native);
  CU_ASSERT_PTR_NULL(pools[0].native());
  CU_ASSERT_EQUAL(error_of([&] { pools[0].push([] {}); }), EINVAL);
  CU_ASSERT_EQUAL(error_of([&] { pools[0].wait(); }), EINVAL);
  moved.push([&ran] { ran++; });
  moved = std::move(pools[1]); // the pool that was there drains
  CU_ASSERT_TRUE(ran >= 2);
  pools.clear();
  moved.wait();
  CU_ASSERT_EQUAL(ran, 4);
}

static void destructor_drains()
{
  std::atomic<int> ran{0};
  {
    held_pool scene(2);
    for (int i = 0; i < 100; i++)
      scene.pool.push([&ran] { ran++; });
  }
  CU_ASSERT_EQUAL(ran, 100);
}

/// Counts workers that have ended.
static void note_end(void *ended, const ws_observation_t *seen)
{
  if (seen->what == WS_OBSERVED_STOP)
    ++*static_cast<std::atomic<std::uint32_t> *>(ended);
}

/// The owner of a pool, of which the pool's tasks have references.
struct owner {
  std::atomic<std::uint32_t> *ended;
  ws::pool pool;

  owner(std::uint32_t workers, std::atomic<std::uint32_t> *count)
      : ended(count), pool(settings(workers, count))
  {
  }
  static ws_settings_t settings(std::uint32_t workers, std::atomic<std::uint32_t> *count)
  {
    ws_settings_t settings = settings_of(workers);
    settings.observer = note_end;
    settings.observer_arg = count;
    return settings;
  }
};

/// @param begin  pushes a task that has a reference, and stands in the gate
template <typename Begin>
static void ends_by_the_last_reference(Begin begin)
{
  std::atomic<std::uint32_t> ended{0};
  gate door;
  auto first = std::make_shared<owner>(2, &ended);
  begin(first, door);
  CU_ASSERT_TRUE(door.await(1));
  first.reset();
  CU_ASSERT_EQUAL(ended, 0);
  door.let(1);
  const auto has_ended = [](void *count) { return *static_cast<std::atomic<std::uint32_t> *>(count) == 2; };
  CU_ASSERT_TRUE(test_until(has_ended, &ended));
}

static void the_last_reference_goes_in_a_task()
{
  ends_by_the_last_reference(
      [](std::shared_ptr<owner> of, gate &door) { of->pool.push([of, &door] { door.stand(); }); });
  ends_by_the_last_reference(
      [](std::shared_ptr<owner> of, gate &door) { of->pool.submit([of, &door] { door.stand(); }); });
#if WS_TEST_FIBERS
  ends_by_the_last_reference([](std::shared_ptr<owner> of, gate &door) {
    of->pool.push([of, &door](ws::context &context) {
      context.yield();
      door.stand();
    });
  });
#endif
}

/// The pool of before ends later, the new one is there at once.
static void a_pool_is_assigned_in_its_task()
{
  ws::pool pool(settings_of(1));
  const ws_pool_t *const before = pool.native();
  pool.submit([&pool] { pool = ws::pool(settings_of(2)); }).get();
  CU_ASSERT_PTR_NOT_EQUAL(pool.native(), before);
  CU_ASSERT_EQUAL(pool.submit([] { return 3; }).get(), 3);
}

static int exit_with_a_static_pool(void *)
{
  static ws::pool pool(settings_of(2));
  pool.push([] { std::exit(75); });
  for (;;)
    pause();
}

static void a_task_calls_exit()
{
  CU_ASSERT_EQUAL(test_in_child(exit_with_a_static_pool, nullptr), 75);
}

static void wait_inside_a_task_is_refused()
{
  ws::pool pool(settings_of(1));
  CU_ASSERT_EQUAL(pool.submit([&pool] { return error_of([&pool] { pool.wait(); }); }).get(), EDEADLK);
  CU_ASSERT_EQUAL(pool.submit([&pool] { return pool.stop(WS_STOP_DRAIN); }).get(), -EDEADLK);
}

static void note_skipped(void *tasks, const ws_task_t *task)
{
  static std::mutex lock; // the stopping thread and the worker may skip at once
  const std::lock_guard<std::mutex> held(lock);
  static_cast<std::vector<void *> *>(tasks)->push_back(task->arg);
}

static void do_nothing(void *) {}

/// Tasks that were pushed in C get the user's settings.skipped; the C++ ones end by themselves.
static void skipped_tasks_of_both_languages()
{
  std::vector<void *> skipped;
  ws_settings_t settings = settings_of(1);
  settings.skipped = note_skipped;
  settings.skipped_arg = &skipped;
  held_pool scene(1, settings);
  ws_task_t plain = {};
  plain.func = do_nothing;
  plain.arg = &plain;
  CU_ASSERT_EQUAL(ws_pool_push(scene.pool.native(), plain), 0);
  ws::future<void> future = scene.pool.submit([] {});
  std::thread opener([&scene, plain] {
    while (ws_pool_push(scene.pool.native(), plain) == 0)
      std::this_thread::yield();
    scene.let();
  });
  const std::int64_t count = scene.pool.stop(WS_STOP_ABORT);
  opener.join();
  CU_ASSERT_EQUAL(skipped.size() + 1, static_cast<std::size_t>(count));
  CU_ASSERT_TRUE(!skipped.empty() && skipped[0] == &plain);
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { future.get(); }));
}

/// Threads that are no workers push at once, more of them than have lanes.
static void many_threads_submit()
{
  ws_settings_t settings = settings_of(2);
  settings.lanes = 2;
  ws::pool pool(settings);
  std::atomic<long> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; i++)
        sum += pool.submit([i] { return i; }).get();
    });
  for (std::thread &thread : threads)
    thread.join();
  CU_ASSERT_EQUAL(sum, 6L * 300 * 299 / 2);
}

enum { HAS_LEFT = 42 };

/// The child ends as a program ends whose pools are static: they are destroyed in exit().
static int leave_parents(void *parents)
{
  auto *pool = static_cast<ws::pool *>(parents);
  if (pool->try_push([] {}) != -ESRCH || error_of([&] { pool->submit([] {}).get(); }) != ESRCH
      || error_of([&] { pool->wait(); }) != ESRCH)
    return 1;
  delete pool;
  return HAS_LEFT;
}

static void a_child_of_fork_leaves_the_pool()
{
  auto *pool = new ws::pool(settings_of(2));
  pool->submit([] {}).get();
  CU_ASSERT_EQUAL(test_in_child(leave_parents, pool), HAS_LEFT);
  pool->submit([] {}).get();
  delete pool;
}

TEST_SUITE(pool, TEST_CASE(a_child_of_fork_leaves_the_pool), TEST_CASE(bad_settings_are_named),
           TEST_CASE(number_of_workers), TEST_CASE(pools_move), TEST_CASE(destructor_drains),
           TEST_CASE(wait_inside_a_task_is_refused), TEST_CASE(skipped_tasks_of_both_languages),
           TEST_CASE(many_threads_submit), TEST_CASE(the_last_reference_goes_in_a_task),
           TEST_CASE(a_pool_is_assigned_in_its_task), TEST_CASE(a_task_calls_exit))
