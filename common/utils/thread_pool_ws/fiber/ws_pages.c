// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pages.c
/// ws_pages.h.
#define _GNU_SOURCE
#include "ws_pages.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

size_t ws_pages_signal_frame(void)
{
  return getauxval(AT_MINSIGSTKSZ);
}

/// Not mapped for writing at any time: after mlockall(MCL_FUTURE) all of it would be in memory.
static void *reserve(void *memory, size_t bytes, int flags)
{
  flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  memory = mmap(memory, bytes, PROT_NONE, flags, -1, 0);
  if (memory == MAP_FAILED)
    return NULL;
  madvise(memory, bytes, MADV_NOHUGEPAGE); // refused by a kernel without huge pages
  return memory;
}

void *ws_pages_reserve(size_t bytes)
{
  return reserve(NULL, bytes, 0);
}

bool ws_pages_open(void *memory, size_t bytes)
{
  return mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0;
}

/// Pages that have had memory would stay a mapping of their own after mprotect(): so they are mapped anew.
bool ws_pages_close(void *memory, size_t bytes)
{
  return reserve(memory, bytes, MAP_FIXED) != NULL;
}
