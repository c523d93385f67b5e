// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_node.c
/// ws_os.h: NUMA nodes of memory.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ws_os.h"

#define PAGES_AT_ONCE 256u

size_t ws_os_page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

uint32_t ws_os_node_count(void)
{
  char text[256], *next = text;
  uint32_t count = 0, first, last;
  if (!ws_os_read("/sys/devices/system/node/online", text, sizeof(text)))
    return 1;
  while (ws_os_next_range(&next, &first, &last))
    count += last - first + 1;
  return count > 0 ? count : 1;
}

int ws_os_nodes_of(uint32_t count, void *const *address, int32_t *node)
{
  void *pages[PAGES_AT_ONCE];
  const uintptr_t page_mask = ~(uintptr_t)(ws_os_page_bytes() - 1);
  for (uint32_t done = 0; done < count;) {
    const uint32_t part = count - done < PAGES_AT_ONCE ? count - done : PAGES_AT_ONCE;
    for (uint32_t i = 0; i < part; i++)
      pages[i] = (void *)((uintptr_t)address[done + i] & page_mask);
    // moves none: without nodes to move them to, it returns where they lie
    if (syscall(SYS_move_pages, 0, (unsigned long)part, pages, NULL, node + done, 0) < 0)
      return -errno;
    done += part;
  }
  return 0;
}

void ws_os_small_pages(void *memory, size_t bytes)
{
  madvise(memory, bytes, MADV_NOHUGEPAGE); // refused by a kernel without huge pages
}
