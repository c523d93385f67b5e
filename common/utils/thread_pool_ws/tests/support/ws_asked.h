// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_asked.h
/// How often a program asks for memory: it brings its own malloc, which counts. Linked with --wrap of
/// ws_os_map. Included by one source file of a program.
///
/// Count in child processes (test_in_child), which have no threads but one and the pool's: libraries may
/// have threads of their own in the parent. Where a session daemon of the user runs, LTTng's listeners
/// register there while the tests run, unless the program has waited for that (LTTNG_UST_REGISTER_TIMEOUT).
#ifndef WS_ASKED_H
#define WS_ASKED_H

#include "ws_test.h" // IWYU pragma: export

static ws_au32_t counting;
static ws_au64_t calls;

static void note_call(void)
{
  if (ws_load_relaxed(&counting))
    ws_add_relaxed(&calls, 1);
}

#if !TEST_SANITIZED
// The C library calls these instead of its own (glibc manual, "Replacing malloc").
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

#define ASKED(result, name, parameters, call)                                                                \
  result name parameters                                                                                     \
  {                                                                                                          \
    note_call();                                                                                             \
    return call;                                                                                             \
  }
void *memalign(size_t alignment, size_t bytes);
ASKED(void *, malloc, (size_t bytes), __libc_malloc(bytes))
ASKED(void *, calloc, (size_t count, size_t bytes), __libc_calloc(count, bytes))
ASKED(void *, realloc, (void *memory, size_t bytes), __libc_realloc(memory, bytes))
ASKED(void *, memalign, (size_t alignment, size_t bytes), __libc_memalign(alignment, bytes))
ASKED(void *, aligned_alloc, (size_t alignment, size_t bytes), __libc_memalign(alignment, bytes))

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
  note_call();
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
  note_call();
  __libc_free(memory);
}
#endif

/// Linked with --wrap=ws_os_map: queues that grow take memory from there.

TEST_WRAP(void *, ws_os_map, (size_t bytes))
{
  note_call();
  return __real_ws_os_map(bytes);
}

/// @brief Count from now on, from 0.
static void count_begin(void)
{
  ws_store_relaxed(&calls, 0);
  ws_store_relaxed(&counting, 1);
}

/// @brief Stop counting. @return how often memory was asked for since counting began, 100 = so often or more
static int count_end(void)
{
  ws_store_relaxed(&counting, 0);
  const uint64_t count = test_value(&calls);
  return count < 100 ? (int)count : 100;
}

#endif
