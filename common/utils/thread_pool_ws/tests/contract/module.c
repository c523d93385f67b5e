// SPDX-License-Identifier: BSD-3-Clause
/// @file module.c
/// A plug-in that takes the pool's functions from the executable, which has linked them for its own needs.
#include "module.h"

typedef struct {
  uint64_t in, out;
#if MODULE_TASKS
  task_ans_t *ans;
#endif
} unit_t;

static void run_unit(void *unit_arg)
{
  unit_t *unit = unit_arg;
  unit->out = unit->in * unit->in;
#if MODULE_TASKS
  completed_task_ans(unit->ans);
#endif
}

#if MODULE_TASKS
uint64_t module_run(tpool_t *pool)
{
  unit_t unit[MODULE_UNITS];
  uint64_t sum = 0;
#ifdef CONTRACT_SHAPE_B1
  task_ans_t ans[MODULE_UNITS];
  memset(ans, 0, sizeof(ans));
#else
  task_ans_t ans[1];
  init_task_ans(ans, MODULE_UNITS + 2);
#endif
  for (uint64_t i = 0; i < MODULE_UNITS; i++) {
    unit[i] = (unit_t){.in = i, .ans = &ans[i % (sizeof(ans) / sizeof(ans[0]))]};
    pushTpool(pool, (task_t){.func = run_unit, .args = &unit[i]});
  }
#ifdef CONTRACT_SHAPE_B1
  join_task_ans(ans, MODULE_UNITS);
#else
  completed_many_task_ans(ans, 2);
  join_task_ans(ans);
#endif
  for (uint32_t i = 0; i < MODULE_UNITS; i++)
    sum += unit[i].out;
  return sum;
}
#else
uint64_t module_run(tpool_t *pool)
{
  notifiedFIFO_t response, plain;
  uint64_t sum = 0;
  initNotifiedFIFO(&response);
  initNotifiedFIFO(&plain);
  for (uint64_t i = 0; i < MODULE_UNITS; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(unit_t), i, &response, run_unit);
    *(unit_t *)NotifiedFifoData(elt) = (unit_t){.in = i};
    pushTpool(pool, elt);
  }
  for (uint32_t i = 0; i < MODULE_UNITS; i++)
    pushNotifiedFIFO(&plain, pullTpool(&response, pool));
  for (notifiedFIFO_elt_t *elt; (elt = pollNotifiedFIFO(&plain)) != NULL;) {
    sum += ((unit_t *)NotifiedFifoData(elt))->out;
    delNotifiedFIFO_elt(elt);
  }
  abortNotifiedFIFO(&plain);
  return pullNotifiedFIFO(&plain) ? 0 : sum;
}
#endif
