// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_death.cpp
/// What ends the process: misuse of the C++ headers, with a message that names the call, and exceptions that
/// no caller can get. A C++ exception leaves a task of the C interface: no handler of the thread that runs it
/// gets it. test_escape.c has all places where tasks run.
#include "cxx_scene.hpp"

static void thrower(void *)
{
  throw std::runtime_error("of a task");
}

/// The second look comes from within the wait's loop.
static bool throw_at_second_look(void *looks)
{
  if ((*static_cast<int *>(looks))++ > 0)
    thrower(nullptr);
  return false;
}

DEATHS(misuse_and_lost_exceptions_end_the_process,
       {"terminated by: of a task",
        [](ws::pool &pool) {
          ws_task_t task = {};
          task.func = thrower;
          ws_pool_push(pool.native(), task);
        }},
       {"an exception left a function that the pool called: the process ends",
        [](ws::pool &pool) {
          int looks = 0;
          const ws_event_t event = {throw_at_second_look, [](void *) {}, &looks};
          ws_pool_await(pool.native(), nullptr, &event);
        }},
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
