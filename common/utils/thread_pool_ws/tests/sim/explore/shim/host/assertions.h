// SPDX-License-Identifier: BSD-3-Clause
/// @file assertions.h
/// Stand-in for the host's assertions: one that does not hold is a finding.
#ifndef WS_HOST_ASSERTIONS_H
#define WS_HOST_ASSERTIONS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void sim_finding(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define AssertFatal(condition, ...)                                                                          \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      sim_finding("%s: assertion failed: %s", __func__, #condition);                                         \
  } while (0)

#define DevAssert(condition) AssertFatal(condition, "%s", "")

#endif
