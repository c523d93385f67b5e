// SPDX-License-Identifier: BSD-3-Clause
/// @file module.c
/// A plug-in that takes the pool's functions from the executable, which has linked them for its own needs.
#include "batch.h"

#define UNITS 40

typedef struct {
  uint64_t in, out;
} unit_t;

static void square(void *unit_arg)
{
  unit_t *unit = unit_arg;
  unit->out = unit->in * unit->in;
}

/// @return whether the pool's workers computed so many squares, in each of many batches
bool module_run(tpool_t *pool);

bool module_run(tpool_t *pool)
{
  uint64_t wrong = 0;
  for (uint32_t round = 0; round < 200; round++) {
    unit_t unit[UNITS];
    batch_t batch;
    batch_begin(&batch, UNITS + 2 * CONTRACT_TASKS);
    for (uint64_t i = 0; i < UNITS; i++) {
      unit[i] = (unit_t){.in = i};
      batch_push(&batch, pool, square, &unit[i]);
    }
#if CONTRACT_TASKS
    batch_complete(&batch, 2);
#endif
    batch_end(&batch, pool);
    for (uint64_t i = 0; i < UNITS; i++)
      wrong += unit[i].out != i * i;
  }
  return wrong == 0;
}
