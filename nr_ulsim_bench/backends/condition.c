// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for a condition variable; the producer is the last to come.
#include <pthread.h>
#include <stdint.h>

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t all;
  uint32_t threads, here, round;
} gate_t;

static void gate_init(gate_t *gate, uint32_t threads)
{
  *gate = (gate_t){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, threads, 0, 0};
}

static void gate_pass(gate_t *gate)
{
  pthread_mutex_lock(&gate->lock);
  const uint32_t round = gate->round;
  if (++gate->here == gate->threads) {
    gate->here = 0;
    gate->round++;
    pthread_cond_broadcast(&gate->all);
  }
  while (gate->round == round)
    pthread_cond_wait(&gate->all, &gate->lock);
  pthread_mutex_unlock(&gate->lock);
}

#include "team.h" // IWYU pragma: keep, for all of it
