// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_fiber.c
/// sim_fiber.h.
#include "sim_fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/// A scenario nests some hundred tasks at most, each in less than 2 KiB.
#define STACK_BYTES ((size_t)2 << 20)
#define GUARD_BYTES ((size_t)4096)
#define STACKS_KEPT 512

// Boost.Context's C entry points.
typedef struct {
  void *from;
  void *data;
} transfer_t;
transfer_t jump_fcontext(void *to, void *data);
void *make_fcontext(void *stack_top, size_t bytes, void (*entry)(transfer_t));

void *__real_mmap(void *address, size_t bytes, int access, int flags, int file, long offset);
int __real_munmap(void *address, size_t bytes);

// The linker makes these for a section whose name is an identifier.
extern char __start_sim_local[] __attribute__((weak)), __stop_sim_local[] __attribute__((weak));

static struct {
  void *engine; ///< where the engine goes on
  sim_fiber_t *local_of; ///< whose thread-local variables lie in the section
  void (*entry)(void);
  char *first_local; ///< the section as the program found it
  char *kept[STACKS_KEPT];
  size_t kept_count;
} fibers;

static size_t local_bytes(void)
{
  return (size_t)(__stop_sim_local - __start_sim_local);
}

static void *alloc(size_t bytes)
{
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) {
    fprintf(stderr, "simulate: no memory\n");
    abort();
  }
  return memory;
}

void *sim_next_address(size_t bytes)
{
  static char *next = (char *)((uintptr_t)1 << 44);
  next += (bytes / GUARD_BYTES + 1) * GUARD_BYTES;
  return next - (bytes / GUARD_BYTES + 1) * GUARD_BYTES;
}

static char *new_stack(void)
{
  if (fibers.kept_count > 0)
    return fibers.kept[--fibers.kept_count];
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char *stack = __real_mmap(sim_next_address(STACK_BYTES), STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) != 0) {
    fprintf(stderr, "simulate: no memory for a stack\n");
    abort();
  }
  return stack;
}

static void begin(transfer_t transfer)
{
  fibers.engine = transfer.from;
  ((void (*)(void))transfer.data)();
  abort();
}

void sim_fiber_make(sim_fiber_t *fiber, void (*entry)(void))
{
  if (!fibers.first_local) {
    fibers.first_local = alloc(local_bytes());
    memcpy(fibers.first_local, __start_sim_local, local_bytes());
  }
  fibers.entry = entry;
  fiber->stack = new_stack();
  fiber->stack_bytes = STACK_BYTES;
  fiber->local = alloc(local_bytes());
  memcpy(fiber->local, fibers.first_local, local_bytes());
  fiber->context = make_fcontext(fiber->stack + STACK_BYTES, STACK_BYTES, begin);
}

void sim_fiber_free(sim_fiber_t *fiber)
{
  if (fibers.local_of == fiber)
    fibers.local_of = NULL;
  if (fibers.kept_count < STACKS_KEPT)
    fibers.kept[fibers.kept_count++] = fiber->stack;
  else
    __real_munmap(fiber->stack, fiber->stack_bytes);
  free(fiber->local);
  *fiber = (sim_fiber_t){0};
}

static void take_local(sim_fiber_t *fiber)
{
  if (fibers.local_of == fiber)
    return;
  if (fibers.local_of)
    memcpy(fibers.local_of->local, __start_sim_local, local_bytes());
  memcpy(__start_sim_local, fiber->local, local_bytes());
  fibers.local_of = fiber;
}

void sim_fiber_run(sim_fiber_t *fiber)
{
  take_local(fiber);
  fiber->context = jump_fcontext(fiber->context, (void *)fibers.entry).from;
}

void sim_fiber_leave(void)
{
  fibers.engine = jump_fcontext(fibers.engine, NULL).from;
}
