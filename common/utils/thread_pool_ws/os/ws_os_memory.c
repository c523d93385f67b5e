// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_memory.c
/// ws_os.h: memory and addresses, and on which NUMA node memory lies.
#define _GNU_SOURCE
#include "ws_os.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t ws_os_page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

void *ws_os_lines(size_t bytes)
{
  return aligned_alloc(WS_SPACING, (bytes + WS_SPACING - 1) / WS_SPACING * WS_SPACING);
}

void ws_os_lines_free(void *memory)
{
  free(memory);
}

void *ws_os_map(size_t bytes)
{
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void ws_os_unmap(void *memory, size_t bytes)
{
  if (memory)
    munmap(memory, bytes);
}

int ws_os_release_pages(void *memory, size_t bytes)
{
  return madvise(memory, bytes, MADV_DONTNEED) < 0 ? -errno : 0;
}

int ws_os_nodes_of(uint32_t count, void *const *address, int32_t *node)
{
  // Moves none: without nodes to move them to, it returns where they lie. For that the addresses need not be
  // those of pages.
  return syscall(SYS_move_pages, 0, (unsigned long)count, address, NULL, node, 0) < 0 ? -errno : 0;
}

void ws_os_small_pages(void *memory, size_t bytes)
{
  madvise(memory, bytes, MADV_NOHUGEPAGE); // refused by a kernel without huge pages
}

void ws_os_prefer_node(void *memory, size_t bytes, uint32_t node)
{
  enum { PREFERRED = 1 }; // MPOL_PREFERRED of the kernel, whose header belongs to libnuma
  unsigned long nodes[WS_NODE_NUMBERS / WS_LONG_BITS] = {0};
  nodes[node / WS_LONG_BITS] = 1ul << node % WS_LONG_BITS;
  syscall(SYS_mbind, memory, bytes, PREFERRED, nodes, WS_NODE_NUMBERS + 1ul, 0); // the kernel subtracts one
}
