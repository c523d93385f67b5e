// SPDX-License-Identifier: BSD-3-Clause
/// @file api_death.h
/// Calls that must end the process with a message.
#ifndef API_DEATH_H
#define API_DEATH_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../support/ws_test.h"

typedef struct {
  void (*call)(void);
  int stderr_copy;
} death_t;

static inline int death_child(void *death_arg)
{
  const death_t *death = death_arg;
  dup2(death->stderr_copy, STDERR_FILENO);
  death->call();
  return 0;
}

/// @brief Run @p call in a child process. @return whether abort() ended it, with @p message in its stderr
static inline bool dies_with(void (*call)(void), const char *message)
{
  death_t death = {call, memfd_create("stderr", 0)};
  const int status = test_in_child(death_child, &death);
  char text[1024] = "";
  const ssize_t size = pread(death.stderr_copy, text, sizeof text - 1, 0);
  close(death.stderr_copy);
  const bool found = size > 0 && strstr(text, message);
  if (status != 128 + SIGABRT || !found)
    printf("\n    wanted: abort with \"%s\"\n    got: status %d, stderr: %s\n", message, status, text);
  return status == 128 + SIGABRT && found;
}

#endif
