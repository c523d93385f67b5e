// SPDX-License-Identifier: BSD-3-Clause
/// @file task_manager.c
/// A program on the interface task_manager: the squares of 1 to 1000, one task each; then an end with tasks
/// that may not have run.
#include <stdint.h>
#include <stdio.h>

#include "task_manager.h"

#define COUNT 1000u

typedef struct {
  uint64_t number, square;
} item_t;

static uint32_t cleaned;

static void compute(void *item_arg)
{
  item_t *item = item_arg;
  item->square = item->number * item->number;
}

static void clean(void *item_arg)
{
  (void)item_arg;
  cleaned++;
}

int main(void)
{
  static item_t item[COUNT];
  task_manager_t man;
  init_task_manager(&man, 2);
  for (uint32_t i = 0; i < COUNT; i++) {
    item[i].number = i + 1;
    async_task_manager(&man, (task_t){.args = &item[i], .func = compute});
  }
  wait_all_task_manager(&man);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < COUNT; i++)
    sum += item[i].square;

  for (uint32_t i = 0; i < COUNT; i++) {
    item[i].square = 0;
    async_task_manager(&man, (task_t){.args = &item[i], .func = compute});
  }
  free_task_manager(&man, clean);
  uint32_t ran = 0;
  for (uint32_t i = 0; i < COUNT; i++)
    ran += item[i].square != 0;
  printf("sum of squares %llu; %u ran and %u were cleaned\n", (unsigned long long)sum, ran, cleaned);
  return sum == 333833500u && ran + cleaned == COUNT ? 0 : 1;
}
