// SPDX-License-Identifier: BSD-3-Clause
/// @file assertions.h
/// Stand-in for the host's assertions: a condition that must hold ends the program when it does not.
#ifndef WS_HOST_ASSERTIONS_H
#define WS_HOST_ASSERTIONS_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define AssertFatal(condition, ...)                                                                          \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: assertion failed: %s: ", __FILE__, __LINE__, #condition);                      \
      fprintf(stderr, __VA_ARGS__);                                                                          \
      fputc('\n', stderr);                                                                                   \
      abort();                                                                                               \
    }                                                                                                        \
  } while (0)

#define DevAssert(condition) AssertFatal(condition, "%s", #condition)

#endif
