// SPDX-License-Identifier: BSD-3-Clause
/// @file memory.h
/// Memory of a process that takes one measurement: it is not freed.
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// @return an array of zeros that begins a cache line, already written, so that no page fault comes later.
/// Without memory the process ends
static inline void *allot(size_t count, size_t size)
{
  const size_t bytes = (count * size / 64 + 1) * 64;
  void *const memory = aligned_alloc(64, bytes);
  if (memory)
    return memset(memory, 0, bytes);
  fprintf(stderr, "no memory for %zu x %zu bytes\n", count, size);
  _exit(EXIT_FAILURE);
}

#endif
