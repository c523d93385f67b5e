// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_cxx.cpp
/// C++ in fibers: exceptions are thrown and caught, also when the fiber waits in a catch block and moves;
/// one that leaves the fiber ends the process. The public headers parse as C++.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "ws_fiber.h"
#include "ws_sync.h"

static ws_mutex_t lock = WS_MUTEX_INIT;
static unsigned errors;

static void note(bool good)
{
  ws_mutex_lock(&lock);
  errors += good ? 0 : 1;
  ws_mutex_unlock(&lock);
}

static void throw_at(int depth, int value)
{
  const std::string text = "a string with a destructor, " + std::to_string(depth);
  if (depth == 0)
    throw std::runtime_error(std::to_string(value));
  throw_at(depth - 1, value);
}

static void throw_and_catch(void *value_arg)
{
  const int value = *static_cast<const int *>(value_arg);
  for (int i = 0; i < 50; i++) {
    try {
      throw_at(5, value);
      note(false);
    } catch (const std::runtime_error &error) {
      ws_yield(); // other fibers throw and catch meanwhile
      note(error.what() == std::to_string(value));
      try {
        throw;
      } catch (const std::exception &same) {
        ws_yield();
        note(&same == &error);
      }
    }
    note(std::uncaught_exceptions() == 0 && !std::current_exception());
    ws_yield();
  }
}

static int run(void (*func)(void *))
{
  static const int values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 2;
  ws_pool_t *pool = nullptr;
  if (ws_pool_create(&pool, &settings) < 0)
    return 1;
  for (const int &value : values)
    note(ws_fiber_push(pool, func, const_cast<int *>(&value), nullptr, nullptr) == 0);
  ws_pool_destroy(pool);
  return errors == 0 ? 0 : 1;
}

static void throw_out(void *)
{
  throw std::runtime_error("leaves the fiber");
}

static void say_and_exit()
{
  std::_Exit(42);
}

/// The child is the program anew: a copy of a process in which other threads run (LTTng's) may hold the locks
/// that these held.
int main(int argc, char **argv)
{
  if (argc > 1) {
    std::set_terminate(say_and_exit);
    return run(throw_out);
  }
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", argv[0], "throw out", static_cast<char *>(nullptr));
    std::_Exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 42)
    return std::printf("an exception that left a fiber: status %d, not std::terminate\n", status), 1;
  const int result = run(throw_and_catch);
  std::printf("%u errors\n", errors);
  return result;
}
