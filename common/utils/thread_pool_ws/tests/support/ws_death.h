// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_death.h
/// Calls that must end the process with a message, and what a pool's report says.
#ifndef WS_DEATH_H
#define WS_DEATH_H

#include <sys/mman.h> // IWYU pragma: export

#include "ws_test.h" // IWYU pragma: export

typedef struct {
  void (*call)(void);
  int stderr_copy;
} death_t;

static inline int death_child(void *death_arg)
{
  const death_t *death = (const death_t *)death_arg;
  dup2(death->stderr_copy, STDERR_FILENO);
  death->call();
  return 0;
}

/// @brief Run @p call in a child process. @return its status, and in @p text what it wrote to stderr
static inline int death_status(void (*call)(void), char *text, size_t size)
{
  death_t death = {call, memfd_create("stderr", 0)};
  const int status = test_in_child(death_child, &death);
  const ssize_t length = pread(death.stderr_copy, text, size - 1, 0);
  text[length > 0 ? length : 0] = 0;
  close(death.stderr_copy);
  return status;
}

/// @brief Run @p call in a child process. @return whether abort() ended it, with @p message in its stderr and
/// no path of the machine that built the library
static inline bool dies_with(void (*call)(void), const char *message)
{
  char text[1024];
  const int status = death_status(call, text, sizeof text);
  const bool dies = status == 128 + SIGABRT && strstr(text, message) && !strstr(text, "/thread_pool_ws/");
  if (!dies)
    printf("\n    wanted: abort with \"%s\"\n    got: status %d, stderr: %s\n", message, status, text);
  return dies;
}

/// @brief Run @p call, the life of a pool, in a child process. @return whether the pool's report says that it
/// has read the environment
static inline bool reads_environment(void (*call)(void))
{
  char text[1024];
  setenv("TPOOL_WS_REPORT", "1", 1);
  setenv("TPOOL_WS_SPIN", "off", 1);
  const int status = death_status(call, text, sizeof text);
  unsetenv("TPOOL_WS_REPORT");
  unsetenv("TPOOL_WS_SPIN");
  return status == 0 && strstr(text, "spin       off");
}

#endif
