// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_death.cpp
/// What ends the process: misuse of the C++ headers, with a message that names the call, and exceptions that
/// no caller can get.
/// A call that runs functions of the program on the calling thread, tasks or others, cannot be left by
/// them: no handler of the caller gets an exception, pthread_exit() ends the process, and a request to
/// cancel the thread acts after the call.
#include "../../include/ws_key.h"
#include "../../include/ws_scan.h"
#include "cxx_scene.hpp"

static void thrower(void *)
{
  throw std::runtime_error("of a task");
}

static void (*act)(); ///< what a function of the program does
static held_pool *held; ///< its worker stands in a gate until then
static int acted;

static void act_in_task(void *)
{
  act();
  held->let();
}

static ws_task_t task_of(void (*func)(void *), ws_group_t *group = nullptr)
{
  return {func, nullptr, group, WS_PRIORITY_NORMAL, WS_NODE_ANY};
}

static ws_pool_t *push(void (*func)(void *), ws_group_t *group = nullptr)
{
  ws_pool_push(held->pool.native(), task_of(func, group));
  return held->pool.native();
}

static void push_and_wait(void (*func)(void *))
{
  ws_group_t group;
  ws_group_init(&group, 1);
  ws_group_wait(&group, push(func, &group));
}

static void loop(ws_pool_t *pool)
{
  const ws_for_t how = {[](void *, std::uint64_t, std::uint64_t, std::uint32_t) { act(); }, nullptr, 1,
                        nullptr};
  ws_for(pool, &how, 0, 1);
}

static void (*const ways[])() = {
    [] { push_and_wait(act_in_task); },
    [] {
      push_and_wait([](void *) {
        push_and_wait(act_in_task);
        pthread_testcancel(); // not yet
      });
    },
    [] { ws_pool_wait(push(act_in_task)); },
    [] { ws_pool_stop(push(act_in_task), WS_STOP_DRAIN); },
    [] { ws_pool_stop(push(thrower), WS_STOP_ABORT); }, // settings.skipped
    [] { ws_pool_push(ws::pool(settings_of(0)).native(), task_of(act_in_task)); }, // inside the push
    [] {
      const ws_event_t event = {[](void *) { return act(), true; }, [](void *) {}, nullptr};
      ws_pool_await(held->pool.native(), nullptr, &event);
    },
    [] {
      ws_key_t key;
      ws_key_init(&key);
      ws_keyed_t task = {};
      task.key = &key;
      task.func = thrower;
      task.on_cancel = act_in_task;
      ws_pool_push_keyed(held->pool.native(), &task);
      ws_pool_cancel_wait(held->pool.native(), &key);
    },
    [] { loop(held->pool.native()); },
    [] { loop(nullptr); },
    [] {
      ws_reduce_t how = {};
      how.piece = [](void *, std::uint64_t, std::uint64_t, void *) { act(); };
      ws_reduce(held->pool.native(), &how, 0, 1, nullptr);
    },
    [] {
      void *block = held;
      const ws_scan_t how = {&block, 1, [](void *, void *, std::uint32_t) { act(); }, nullptr, false};
      ws::pool stopped(settings_of(1)); // so the caller scans it
      stopped.stop(WS_STOP_DRAIN);
      ws_scan(stopped.native(), &how);
    },
};
static void (*way)();
static bool has_lane;

static void call()
{
  ws_settings_t settings = settings_of(1);
  settings.lanes = has_lane;
  settings.skipped = [](void *, const ws_task_t *) { act_in_task(nullptr); };
  held_pool pool(1, settings);
  held = &pool;
  way();
}

static void *call_and_end(void *unused)
{
  call();
  acted++;
  pthread_testcancel();
  acted++;
  return unused;
}

FORK_CASE(no_call_can_be_left)
{
  const auto call_in = [](ws::pool &) { call(); };
  for (std::size_t i = 0; i < 2 * std::size(ways); i++) {
    way = ways[i / 2];
    has_lane = i % 2 > 0;
    act = [] { thrower(nullptr); };
    CU_ASSERT_TRUE(dies({"a function that the pool called: the process ends", call_in}));
    act = [] { pthread_exit(nullptr); };
    CU_ASSERT_TRUE(dies({"a function that the pool called ended its thread", call_in}));
  }
}

CASE(a_request_to_cancel_acts_after_the_call)
{
  act = [] {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    acted++;
  };
  for (std::size_t i = 0; i < 2 * std::size(ways); i++) {
    way = ways[i / 2];
    has_lane = i % 2 > 0;
    acted = 0;
    test_in_threads(1, call_and_end, nullptr);
    CU_ASSERT_EQUAL(acted, 2);
  }
}

DEATHS(misuse_and_lost_exceptions_end_the_process,
       {"terminated by: of a task",
        [](ws::pool &pool) {
          ws_task_t task = {};
          task.func = thrower;
          ws_pool_push(pool.native(), task);
        }},
       {"FATAL: exception not rethrown", // of the C library
        [](ws::pool &pool) { ws::parallel_for(pool, 0, 1, [](int) { pthread_exit(nullptr); }); }},
       {"terminated by: of a task", [](ws::pool &pool) { pool.push([] { thrower(nullptr); }); }},
       {"terminated by: of a task", [](ws::pool &pool) { ws::group().run(pool, [] { thrower(nullptr); }); }},
       {"ws::task::operator(): called without a callable", [](ws::pool &) { ws::task()(); }},
       {"ws::task::operator(): called without a callable",
        [](ws::pool &pool) {
          ws::task first([] {}), second(std::move(first));
          pool.push(std::move(first));
        }},
       {"ws: a range of unsigned numbers: begins below 0",
        [](ws::pool &pool) { ws::parallel_for(pool, -1, 5u, [](unsigned) {}); }},
       {"ws::promise::get_future: called twice",
        [](ws::pool &) {
          ws::promise<int> promise;
          static_cast<void>(promise.get_future());
          static_cast<void>(promise.get_future());
        }},
       {"ws::promise::set_value: the promise has its result",
        [](ws::pool &) {
          ws::promise<int> promise;
          promise.set_value(1);
          promise.set_value(2);
        }},
       {"ws::promise::set_exception: the promise has its result",
        [](ws::pool &) {
          ws::promise<int> promise, other(std::move(promise));
          promise.set_exception(nullptr);
        }},
       {"ws::future::then: the future has no state",
        [](ws::pool &pool) { ws::future<int>().then(pool, [](int) {}); }})
