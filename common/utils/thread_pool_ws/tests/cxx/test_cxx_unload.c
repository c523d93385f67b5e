// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_unload.c
/// A library in C++ with a pool in a static object is unloaded by dlclose, and its workers have ended before.
/// In C: the dynamic linker would bind the library's symbols to those of a program with the same headers.
#include <dlfcn.h>
#include <glob.h>

#include "../support/ws_test.h"
#include "cxx_unload.h"

static ws_au32_t workers_ended;

static void note_end(void)
{
  ws_add_acq_rel(&workers_ended, 1);
}

#ifndef WS_TEST_STAYS
/// @return whether this process has a page (page/ws_page.h)
static bool has_page(void)
{
  char pattern[64];
  glob_t found;
  snprintf(pattern, sizeof(pattern), "/dev/shm/thread_pool_ws.*.%d", (int)getpid());
  const bool has = glob(pattern, 0, NULL, &found) == 0;
  globfree(&found);
  return has;
}

/// Twice: a library that was built anew in between would be loaded.
TEST_CASE(dlclose_unloads)
{
  for (int i = 0; i < 2; i++) {
    ws_store_release(&workers_ended, 0);
    void *library = dlopen(WS_TEST_UNLOAD, RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(library);
    const unload_work_t work = (unload_work_t)(uintptr_t)dlsym(library, "unload_work");
    CU_ASSERT_EQUAL(work(note_end), UNLOAD_SUM);
    ((unload_end_t)(uintptr_t)dlsym(library, "unload_end"))(); // ends the library's own thread
    CU_ASSERT_EQUAL(ws_load_acquire(&workers_ended), 0);
    CU_ASSERT_TRUE(has_page());
    CU_ASSERT_EQUAL(dlclose(library), 0);
    CU_ASSERT_FALSE(has_page());
    CU_ASSERT_EQUAL(ws_load_acquire(&workers_ended), UNLOAD_WORKERS);
    CU_ASSERT_PTR_NULL(dlopen(WS_TEST_UNLOAD, RTLD_NOW | RTLD_NOLOAD));
  }
}
#else
/// The library contains that of fibers, whose threads do not end. It stays from its load on: later the
/// dynamic linker's lock would be taken while another thread forks.
TEST_CASE(dlclose_leaves_fibers)
{
  void *library = dlopen(WS_TEST_UNLOAD, RTLD_NOW | RTLD_LOCAL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(library);
  CU_ASSERT_EQUAL(dlclose(library), 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(library = dlopen(WS_TEST_UNLOAD, RTLD_NOW | RTLD_NOLOAD));
  const unload_work_t work = (unload_work_t)(uintptr_t)dlsym(library, "unload_work");
  CU_ASSERT_EQUAL(work(note_end), UNLOAD_SUM);
  ((unload_end_t)(uintptr_t)dlsym(library, "unload_end"))();
  CU_ASSERT_EQUAL(dlclose(library), 0);
  CU_ASSERT_PTR_NOT_NULL(dlopen(WS_TEST_UNLOAD, RTLD_NOW | RTLD_NOLOAD));
}
#endif

TEST_MAIN("cxx_unload")
