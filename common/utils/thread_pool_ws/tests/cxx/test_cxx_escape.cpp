// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_escape.cpp
/// A C++ exception leaves a task of the C interface, wherever it runs: the process ends by std::terminate(),
/// and no handler of the thread that waits gets the exception. test_escape.c has the tasks that end their
/// thread.
#include <unistd.h>

#include <cstring>
#include <exception>
#include <stdexcept>

#include "cxx_scene.hpp"

enum { TERMINATED = 42, CAUGHT, FORGOTTEN };

struct scene_t {
  ws_pool_t *pool;
  ws_group_t group;
  gate door;
};

static void terminated()
{
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::runtime_error &error) {
    _exit(std::strcmp(error.what(), "from a task") == 0 ? TERMINATED : FORGOTTEN);
  } catch (...) {
  }
  _exit(FORGOTTEN);
}

static void thrower(void *)
{
  throw std::runtime_error("from a task");
}

static void stand(void *door)
{
  static_cast<gate *>(door)->stand();
}

static void push(scene_t &scene, void (*func)(void *), void *arg, ws_group_t *group)
{
  ws_task_t task = {};
  task.func = func;
  task.arg = arg;
  task.group = group;
  ws_pool_push(scene.pool, task);
}

static void begin(scene_t &scene, std::uint32_t workers)
{
  std::set_terminate(terminated);
  const ws_settings_t settings = settings_of(workers);
  if (ws_pool_create(&scene.pool, &settings) != 0)
    _exit(1);
  ws_group_init(&scene.group, 1);
  for (std::uint32_t i = 0; i < workers; i++)
    push(scene, stand, &scene.door, nullptr);
  scene.door.await(workers);
}

template <typename Body>
static int in_a_try(const Body &body)
{
  try {
    body();
  } catch (const std::exception &) {
    return CAUGHT;
  }
  return 0;
}

static int in_group_wait(void *)
{
  scene_t scene;
  begin(scene, 1);
  push(scene, thrower, nullptr, &scene.group);
  return in_a_try([&scene] { ws_group_wait(&scene.group, scene.pool); });
}

static int in_pool_wait(void *)
{
  scene_t scene;
  begin(scene, 1);
  push(scene, thrower, nullptr, nullptr);
  return in_a_try([&scene] { ws_pool_wait(scene.pool); });
}

static int in_stop(void *)
{
  scene_t scene;
  begin(scene, 1);
  push(scene, thrower, nullptr, nullptr);
  return in_a_try([&scene] { ws_pool_stop(scene.pool, WS_STOP_DRAIN); });
}

static int in_push(void *)
{
  scene_t scene;
  begin(scene, 0);
  return in_a_try([&scene] { push(scene, thrower, nullptr, nullptr); });
}

static int in_worker(void *)
{
  scene_t scene;
  begin(scene, 1);
  push(scene, thrower, nullptr, &scene.group);
  scene.door.let(1);
  ws_group_wait(&scene.group, nullptr);
  return 0;
}

/// The second look comes from within the wait's loop.
static bool throw_at_second_look(void *looks)
{
  if ((*static_cast<int *>(looks))++ > 0)
    throw std::runtime_error("from a task");
  return false;
}

static void no_sleep(void *) {}

static int in_await(void *)
{
  scene_t scene;
  begin(scene, 1);
  int looks = 0;
  const ws_event_t event = {throw_at_second_look, no_sleep, &looks};
  return in_a_try([&scene, &event] { ws_pool_await(scene.pool, nullptr, &event); });
}

static void exceptions_end_the_process()
{
  static int (*const places[])(void *) = {in_group_wait, in_pool_wait, in_stop, in_push, in_worker, in_await};
  for (auto place : places)
    CU_ASSERT_EQUAL(test_in_child(place, nullptr), TERMINATED);
}

TEST_SUITE(escape, TEST_CASE(exceptions_end_the_process))
