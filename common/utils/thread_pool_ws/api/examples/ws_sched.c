// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sched.c
/// A program on the interface ws_sched: the sums of the halves of an array, one task each; then one of the
/// two tasks adds them.
#include <stdint.h>
#include <stdio.h>

#include "ws_sched.h"

#define COUNT 1000u

typedef struct {
  const uint64_t *number;
  uint32_t count;
  uint64_t sum; ///< result
} part_t;

static void add_up(void *part_arg)
{
  part_t *part = part_arg;
  part->sum = 0;
  for (uint32_t i = 0; i < part->count; i++)
    part->sum += part->number[i];
}

int main(void)
{
  uint64_t number[COUNT];
  for (uint32_t i = 0; i < COUNT; i++)
    number[i] = i + 1;
  part_t half[2] = {{number, COUNT / 2, 0}, {number + COUNT / 2, COUNT / 2, 0}};
  ws_sched_task_t task[2];
  ws_sched_t *sched = sched_init(2, 2);
  if (!sched) {
    perror("sched_init");
    return 1;
  }
  for (uint32_t i = 0; i < 2; i++) {
    sched_task_init(&task[i], add_up, &half[i], WS_PRIORITY_NORMAL);
    sched_post(sched, &task[i]);
  }
  sched_execute(sched); // helps until both are done

  const uint64_t sums[2] = {half[0].sum, half[1].sum};
  part_t whole = {sums, 2, 0};
  sched_task_init(&task[0], add_up, &whole, WS_PRIORITY_HIGH); // the same task again
  sched_post(sched, &task[0]);
  sched_execute(sched);
  printf("sum of 1 to %u: %llu\n", COUNT, (unsigned long long)whole.sum);

  sched_fini(sched);
  return whole.sum == 500500u ? 0 : 1;
}
