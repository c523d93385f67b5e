// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_node.c
/// ws_os.h: NUMA nodes of memory.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ws_os.h"

#define PAGES_AT_ONCE 256u
enum { MOVE_OWN = 1 << 1 }; // MPOL_MF_MOVE of the kernel: pages that only this process maps

size_t ws_os_page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

uint32_t ws_os_node_count(void)
{
  char text[256];
  uint32_t count = 0;
  if (!ws_os_read("/sys/devices/system/node/online", text, sizeof(text)))
    return 1;
  for (char *next = text; *next >= '0' && *next <= '9';) { // "0-1,4"
    const unsigned long first = strtoul(next, &next, 10);
    const unsigned long last = *next == '-' ? strtoul(next + 1, &next, 10) : first;
    count += (uint32_t)(last - first + 1);
    next += *next == ',';
  }
  return count > 0 ? count : 1;
}

static long move_pages(uint32_t count, void **pages, const int *to, int *status)
{
  return syscall(SYS_move_pages, 0, (unsigned long)count, pages, to, status, to ? MOVE_OWN : 0);
}

int ws_os_nodes_of(uint32_t count, void *const *address, int32_t *node)
{
  void *pages[PAGES_AT_ONCE];
  const uintptr_t page_mask = ~(uintptr_t)(ws_os_page_bytes() - 1);
  for (uint32_t done = 0; done < count;) {
    const uint32_t part = count - done < PAGES_AT_ONCE ? count - done : PAGES_AT_ONCE;
    for (uint32_t i = 0; i < part; i++)
      pages[i] = (void *)((uintptr_t)address[done + i] & page_mask);
    if (move_pages(part, pages, NULL, node + done) < 0)
      return -errno;
    done += part;
  }
  return 0;
}

void ws_os_bring(void *memory, size_t bytes)
{
  void *pages[PAGES_AT_ONCE];
  int to[PAGES_AT_ONCE], status[PAGES_AT_ONCE];
  int32_t cpu, node;
  const size_t page_bytes = ws_os_page_bytes();
  uintptr_t next = (uintptr_t)memory & ~(uintptr_t)(page_bytes - 1);
  const uintptr_t end = (uintptr_t)memory + bytes;
  ws_os_place(&cpu, &node);
  while (node >= 0 && next < end) {
    uint32_t count = 0;
    for (; count < PAGES_AT_ONCE && next < end; next += page_bytes) {
      pages[count] = (void *)next;
      to[count++] = node;
    }
    move_pages(count, pages, to, status); // a page that stays where it is works as well
  }
}

void ws_os_bring_stack(void)
{
  pthread_attr_t attributes;
  void *lowest;
  size_t bytes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return;
  if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0)
    ws_os_bring(&attributes, (size_t)((char *)lowest + bytes - (char *)&attributes));
  pthread_attr_destroy(&attributes);
}
