// SPDX-License-Identifier: BSD-3-Clause
// ws_reduce(). An observer counts the workers that have started and, if asked for, pins each to a CPU.
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "pi_backend.h"
#include "ws_pool.h"
#include "ws_reduce.h"

typedef struct {
  ws_pool_t *pool;
  cpu_set_t mask; ///< of the process
  uint32_t pin_step; ///< 0 = float
  _Atomic uint32_t workers_in;
} pi_pool_t;

/// Pin the calling thread, the pool's number @p index. After each full round it is one CPU further.
static void pin(const cpu_set_t *mask, uint32_t index, uint32_t step)
{
  const uint32_t count = (uint32_t)CPU_COUNT(mask), place = index * step;
  uint32_t left = (place + place / count) % count;
  uint32_t cpu = 0;
  while (!CPU_ISSET(cpu, mask) || left-- > 0)
    cpu++;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void observe(void *pi_pool, const ws_observation_t *observation)
{
  pi_pool_t *const self = pi_pool;
  if (observation->what != WS_OBSERVED_START)
    return;
  if (self->pin_step > 0)
    pin(&self->mask, observation->worker + 1, self->pin_step); // the first CPU is the caller's
  atomic_fetch_add(&self->workers_in, 1);
}

static void *create(const pi_settings_t *settings)
{
  pi_pool_t *const self = calloc(1, sizeof *self);
  if (!self)
    return NULL;
  ws_settings_t of_pool;
  ws_settings_default(&of_pool);
  of_pool.workers = settings->workers;
  of_pool.observer = observe;
  of_pool.observer_arg = self;
  self->pin_step = settings->pin_step;
  sched_getaffinity(0, sizeof self->mask, &self->mask);
  if (ws_pool_create(&self->pool, &of_pool) < 0) {
    free(self);
    return NULL;
  }
  ws_stats_t stats;
  ws_pool_stats(self->pool, &stats, NULL, 0);
  while (atomic_load(&self->workers_in) < stats.workers)
    sched_yield();
  if (self->pin_step > 0)
    pin(&self->mask, 0, self->pin_step);
  return self;
}

static void sum_piece(void *integral_arg, uint64_t first, uint64_t end, void *sum)
{
  const pi_integral_t *const integral = integral_arg;
  *(double *)sum += integral->sum(integral->intervals, first, end);
}

static void add(void *integral_arg, void *left, const void *right)
{
  (void)integral_arg;
  *(double *)left += *(const double *)right;
}

static double reduce(void *pi_pool, const pi_integral_t *integral)
{
  const pi_pool_t *const self = pi_pool;
  const ws_reduce_t how = {
      .piece = sum_piece, .combine = add, .arg = (void *)(uintptr_t)integral, .bytes = sizeof(double)};
  double sum = 0;
  ws_reduce(self->pool, &how, 0, integral->intervals, &sum);
  return sum;
}

static void destroy(void *pi_pool)
{
  pi_pool_t *const self = pi_pool;
  ws_pool_destroy(self->pool);
  free(self);
}

PI_EXPORT const pi_backend_t pi_backend = {
    .version = __VERSION__, .can_pin = true, .create = create, .reduce = reduce, .destroy = destroy};
