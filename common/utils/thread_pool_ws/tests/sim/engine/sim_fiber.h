// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_fiber.h
/// Stacks that one host thread switches between (Boost.Context), each with its own copy of the simulated
/// thread-local variables.
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stddef.h>

typedef struct {
  void *context; ///< where it goes on; NULL = it has ended
  char *stack;
  size_t stack_bytes;
  char *local; ///< its thread-local variables while another fiber runs
} sim_fiber_t;

/// @brief Make a fiber that will call @p entry, which must not return.
void sim_fiber_make(sim_fiber_t *fiber, void (*entry)(void));
void sim_fiber_free(sim_fiber_t *fiber);

/// @return an address at which the kernel will map so many bytes, as nothing lies there. The pool hashes
///         addresses, so a run depends on them
void *sim_next_address(size_t bytes);

/// @brief From the engine: run a fiber until it calls sim_fiber_leave().
void sim_fiber_run(sim_fiber_t *fiber);

/// @brief From a fiber: back to the engine, until the engine runs it again.
void sim_fiber_leave(void);

#endif
