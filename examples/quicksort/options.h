// SPDX-License-Identifier: BSD-3-Clause
/// @file options.h
/// The options of the command line.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT_DEFAULT 10000000
#define COUNT_MAX 999999999
#define BUFFER_DEFAULT 50
#define ROUNDS_MAX 1000

typedef struct {
  size_t count;
  int threads, buffer, rounds;
  uint64_t seed;
  bool compare, json;
} options_t;

/// @brief Read the command line. On --help, and on an error, which it reports on stderr, it ends the program.
options_t options_read(int argc, char **argv);

#endif
