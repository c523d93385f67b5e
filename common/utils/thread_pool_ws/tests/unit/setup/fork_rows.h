// SPDX-License-Identifier: BSD-3-Clause
/// @file fork_rows.h
/// A row of test_fork_calls.c: one call, in a child of its own.
#ifndef FORK_ROWS_H
#define FORK_ROWS_H

#include <sys/mman.h> // IWYU pragma: export

#include "../../support/ws_test.h" // IWYU pragma: export

enum { ROW_RIGHT = 42, ROW_WRONG };

static uint32_t rows_wrong; ///< one thread at a time tries rows

/// @brief Try a call in a child. @param wanted  its exit status. @param said  that its stderr must hold
/// @return true in the child, which must end
static bool row_begins(const char *name, int wanted, const char *said)
{
  char text[1024];
  const int copy = memfd_create("stderr", 0);
  const pid_t child = test_fork();
  if (child == 0) {
    dup2(copy, STDERR_FILENO);
    return true;
  }
  const int status = test_status_of(child);
  const ssize_t length = pread(copy, text, sizeof(text) - 1, 0);
  text[length > 0 ? length : 0] = 0;
  close(copy);
  if (status == wanted && strstr(text, said) && (said[0] == 0 || strstr(text, name)))
    return false;
  rows_wrong++;
  printf("\n    %s: %s %d, stderr: %s\n", name, status < 0 ? "hangs" : "status", status, text);
  return false;
}

static void row_ends(int64_t result, int64_t wanted)
{
  if (result != wanted)
    fprintf(stderr, "returned %lld\n", (long long)result);
  _exit(result == wanted ? ROW_RIGHT : ROW_WRONG);
}

/// The expression, with a call of the function of that name, returns, and is @p wanted.
#define RETURNS(name, expression, wanted)                                                                    \
  do {                                                                                                       \
    if (row_begins(#name, ROW_RIGHT, ""))                                                                    \
      row_ends((int64_t)(expression), (wanted));                                                             \
  } while (0)

/// The expression ends the process, with a message that names the function.
#define ENDS(name, expression)                                                                               \
  do {                                                                                                       \
    if (row_begins(#name, 128 + SIGABRT, "made before this process was forked")) {                           \
      (void)(expression);                                                                                    \
      _exit(ROW_WRONG);                                                                                      \
    }                                                                                                        \
  } while (0)

/// A task that stands in a gate, and runs a function of the test when it is told to.
typedef struct {
  test_gate_t gate;
  void (*func)(void);
} stand_t;

static void stand_task(void *stand_arg)
{
  stand_t *stand = stand_arg;
  for (test_gate_task(&stand->gate); stand->func; test_gate_task(&stand->gate))
    stand->func();
}

static void stand_run(stand_t *stand, void (*func)(void))
{
  stand->func = func;
  test_gate_let(&stand->gate, 1);
  CU_ASSERT_TRUE(test_gate_await(&stand->gate, 1));
  stand->func = NULL;
}

#endif
