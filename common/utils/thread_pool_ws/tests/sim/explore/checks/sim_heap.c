// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_heap.c
/// sim_heap.h.
#define _GNU_SOURCE
#include "sim_heap.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_libc.h"

#define PAGE_BYTES ((size_t)4096)
#define PAGES ((size_t)1 << 17)
#define SIGNAL_STACK_BYTES ((size_t)64 << 10)

enum { UNUSED, INSIDE, LIVE, FREED };

void *__real_mmap(void *address, size_t bytes, int access, int flags, int file, off_t offset);

static struct {
  char *first;
  size_t pages; ///< used so far
  uint8_t state[PAGES]; ///< of the piece that begins there
} heap;

static void *map(size_t bytes, int access)
{
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = __real_mmap(NULL, bytes, access, flags, -1, 0);
  if (memory == MAP_FAILED)
    sim_finding("the host has no memory");
  return memory;
}

/// @return index of the page, or PAGES if it is none of the heap's
static size_t page_of(const void *memory)
{
  const size_t offset = (size_t)((uintptr_t)memory - (uintptr_t)heap.first);
  return heap.first && offset / PAGE_BYTES < heap.pages ? offset / PAGE_BYTES : PAGES;
}

static size_t pages_from(size_t page)
{
  size_t pages = 1;
  while (page + pages < heap.pages && heap.state[page + pages] == INSIDE)
    pages++;
  return pages;
}

void *sim_heap_malloc(size_t bytes)
{
  const size_t page = heap.pages, pages = bytes / PAGE_BYTES + 1;
  if (!heap.first)
    heap.first = map(PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE);
  if (page + pages > PAGES)
    sim_finding("the program has allocated %zu pages", page);
  heap.pages += pages;
  for (size_t i = 1; i < pages; i++)
    heap.state[page + i] = INSIDE;
  heap.state[page] = LIVE;
  return heap.first + page * PAGE_BYTES;
}

/// A page is as the kernel gives it: zeroed.
void *sim_heap_calloc(size_t count, size_t bytes)
{
  return sim_heap_malloc(count * bytes);
}

void *sim_heap_memalign(size_t alignment, size_t bytes)
{
  (void)alignment; // at most a page's
  unsigned char *memory = sim_heap_malloc(bytes);
  for (size_t i = 0; i < bytes; i++)
    memory[i] = 0xA5; // malloc does not promise zeros
  return memory;
}

void sim_heap_free(void *memory)
{
  if (!memory)
    return;
  const size_t page = page_of(memory);
  if (page == PAGES || heap.state[page] == UNUSED || heap.state[page] == INSIDE)
    sim_finding("%p is freed, which was not allocated", memory);
  if (heap.state[page] == FREED)
    sim_finding("memory is freed twice");
  heap.state[page] = FREED;
  mprotect(memory, pages_from(page) * PAGE_BYTES, PROT_NONE);
}

bool sim_heap_is_live(const void *memory)
{
  const size_t page = page_of(memory);
  return page < PAGES && heap.state[page] == LIVE;
}

static void take_fault(int number, siginfo_t *info, void *unused)
{
  size_t page = page_of(info->si_addr);
  while (page < PAGES && page > 0 && heap.state[page] == INSIDE)
    page--;
  if (page < PAGES && heap.state[page] == FREED)
    sim_finding("memory is touched after it was freed");
  signal(number, SIG_DFL); // the same access again ends the process
}

void sim_heap_watch(void)
{
  const stack_t stack = {.ss_sp = map(SIGNAL_STACK_BYTES, PROT_READ | PROT_WRITE),
                         .ss_size = SIGNAL_STACK_BYTES};
  struct sigaction action = {.sa_sigaction = take_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sim_keeps_unmapped = true;
  sigaltstack(&stack, NULL);
  sigaction(SIGSEGV, &action, NULL);
}
