// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_misuse.cpp
/// Misuse of the C++ headers ends the process with a message that names the call.
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "cxx_scene.hpp"

namespace {

struct death {
  void (*call)();
  int stderr_copy;
};

int die(void *death_arg)
{
  const death *of = static_cast<const death *>(death_arg);
  dup2(of->stderr_copy, STDERR_FILENO);
  of->call();
  return 0;
}

/// @return whether abort() ends a process that calls @p call, with @p message in its stderr
bool dies_with(void (*call)(), const char *message)
{
  death of = {call, memfd_create("stderr", 0)};
  const int status = test_in_child(die, &of);
  char text[1024];
  const ssize_t length = pread(of.stderr_copy, text, sizeof(text) - 1, 0);
  text[length > 0 ? length : 0] = 0;
  close(of.stderr_copy);
  const bool dies = status == 128 + SIGABRT && std::strstr(text, message);
  if (!dies)
    std::printf("\n    wanted: abort with \"%s\"\n    got: status %d, stderr: %s\n", message, status, text);
  return dies;
}

void call_an_empty_task()
{
  ws::task()();
}

void push_a_task_that_was_moved_from()
{
  ws::pool pool(settings_of(1));
  ws::task first([] {}), second(std::move(first));
  pool.push(std::move(first));
  pool.wait();
}

void tasks_without_a_callable()
{
  CU_ASSERT_TRUE(dies_with(call_an_empty_task, "ws::task::operator(): called without a callable"));
  CU_ASSERT_TRUE(dies_with(push_a_task_that_was_moved_from, "ws::task::operator(): called without"));
}

} // namespace

TEST_SUITE(misuse, TEST_CASE(tasks_without_a_callable))
