// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's reduction with its static schedule: a piece for each thread. Compiled by gcc for its own runtime
// and by clang for LLVM's.
#include <omp.h>
#include <stdlib.h>

#include "pi_backend.h"

typedef struct {
  uint32_t threads;
} omp_pool_t;

static void *create(const pi_settings_t *settings)
{
  omp_pool_t *const pool = calloc(1, sizeof *pool);
  omp_set_dynamic(0);
  if (pool)
    pool->threads = settings->workers + 1;
  return pool;
}

static double reduce(void *pool, const pi_integral_t *integral)
{
  const uint64_t threads = ((const omp_pool_t *)pool)->threads, count = integral->intervals;
  double sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
  for (uint64_t i = 0; i < threads; i++)
    sum += integral->sum(count, count * i / threads, count * (i + 1) / threads);
  return sum;
}

static void destroy(void *pool)
{
  free(pool);
}

PI_EXPORT const pi_backend_t pi_backend = {
    .version = __VERSION__, .create = create, .reduce = reduce, .destroy = destroy};
