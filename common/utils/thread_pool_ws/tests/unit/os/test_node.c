// SPDX-License-Identifier: BSD-3-Clause
/// @file test_node.c
/// How many NUMA nodes the kernel lists, and where it says that many pages lie.
/// Linked with --wrap of ws_os_read.
#include "../../../os/ws_os.h"
#include "../../support/ws_test.h"

#include <string.h>
#include <sys/mman.h>

static const char *online; ///< the kernel's list; NULL = there is none

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes);

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes)
{
  if (!online || !strstr(path, "node/online"))
    return false;
  strncpy(text, online, bytes - 1);
  text[bytes - 1] = '\0';
  return true;
}

static void nodes_of_a_list(void)
{
  static const struct {
    const char *list;
    uint32_t count;
  } cases[] = {{NULL, 1},      {"\n", 1},    {"0\n", 1},           {"0-1\n", 2},
               {"0-1,4\n", 3}, {"0,8\n", 2}, {"0,2-3,16-19\n", 7}, {"252\n", 1}};
  for (uint32_t i = 0; i < TEST_COUNT(cases); i++) {
    online = cases[i].list;
    CU_ASSERT_EQUAL(ws_os_node_count(), cases[i].count);
  }
  online = NULL;
}

/// More pages than one system call asks for.
static void many_pages(void)
{
  enum { PAGES = 600 };
  const size_t page = ws_os_page_bytes();
  static void *address[PAGES];
  static int32_t node[PAGES];
  char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CU_ASSERT_PTR_NOT_EQUAL_FATAL(memory, MAP_FAILED);
  for (uint32_t i = 0; i < PAGES; i++) {
    address[i] = memory + i * page + i;
    memory[i * page] = 1;
    node[i] = INT32_MIN;
  }
  if (ws_os_nodes_of(PAGES, address, node) < 0)
    printf("  (the kernel does not tell where memory lies)\n");
  else
    for (uint32_t i = 0; i < PAGES; i++)
      CU_ASSERT_TRUE(node[i] >= 0);
  munmap(memory, PAGES * page);
}

TEST_MAIN("node", TEST_CASE(nodes_of_a_list), TEST_CASE(many_pages))
