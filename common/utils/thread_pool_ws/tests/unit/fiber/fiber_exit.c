// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_exit.c
/// A stack that is entered once too often ends the process in Boost.Context, with status 0: the test would
/// pass. Here it fails. Boost.Context calls this function, because a program's symbols go first; exit() does
/// not.
#include "../../support/ws_test.h"

#include <sys/syscall.h>

#define STATUS_ASTRAY 70

#if !TEST_EMULATED // linked statically: there exit() calls it, too
void _exit(int status)
{
  static const char text[] = "test: a stack was entered once too often, or a child ended with status 0\n";
  if (status == 0)
    status = write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? STATUS_ASTRAY + 1 : STATUS_ASTRAY;
  for (;;)
    syscall(SYS_exit_group, status);
}
#endif
