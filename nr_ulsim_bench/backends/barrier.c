// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait at a barrier of POSIX: the producer is the last to come.
#include <pthread.h>
#include <stdint.h>

typedef pthread_barrier_t gate_t;

static void gate_init(gate_t *gate, uint32_t threads)
{
  pthread_barrier_init(gate, NULL, threads);
}

static void gate_pass(gate_t *gate)
{
  pthread_barrier_wait(gate);
}

#include "team.h" // IWYU pragma: keep, for all of it
