// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_calibrate <measurement> <number>...   One micro-measurement of this machine, as JSON, a line or more.
/// ci/simulate calibrate runs them in rounds and writes a machine file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "micro.h"

static uint32_t number[5];

static int costs(void)
{
  return micro_costs(number[0]);
}

static int line(void)
{
  return micro_line(number[0], number[1]);
}

static int wakes(void)
{
  return micro_wakes(number[0], number[1], number[2], number[3], number[4]);
}

static int kicks(void)
{
  return micro_kicks(number[0], number[1], number[2], number[3]);
}

static int timers(void)
{
  return micro_timers(number[0], number[1], number[2]);
}

static int turn(void)
{
  return micro_switch(number[0]);
}

static int place(void)
{
  return micro_place(number[0], number[1], number[2], number[3]);
}

static int detours(void)
{
  return micro_detours(number[0]);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name, *words;
    int count;
    int (*measure)(void);
  } measurements[] = {
      {"costs", "<cpu>", 1, costs},
      {"line", "<cpu> <cpu>", 2, line},
      {"wakes", "<cpu> <caller's cpu> <us it is awake> <idle us> <count>", 5, wakes},
      {"kicks", "<cpu> <caller's cpu> <idle us> <count>", 4, kicks},
      {"timers", "<cpu> <sleep us> <count>", 3, timers},
      {"switch", "<cpu>", 1, turn},
      {"place", "<caller's cpu> <cpu> <idle us> <count>", 4, place},
      {"detours", "<half seconds>", 1, detours},
  };
  for (uint32_t i = 0; argc > 1 && i < sizeof(measurements) / sizeof(measurements[0]); i++) {
    if (strcmp(argv[1], measurements[i].name) != 0 || argc - 2 != measurements[i].count)
      continue;
    for (int k = 2; k < argc; k++)
      number[k - 2] = (uint32_t)strtoul(argv[k], NULL, 10);
    return measurements[i].measure();
  }
  fprintf(stderr, "usage: ws_calibrate <measurement> <number>...\n");
  for (uint32_t i = 0; i < sizeof(measurements) / sizeof(measurements[0]); i++)
    fprintf(stderr, "  %-8s %s\n", measurements[i].name, measurements[i].words);
  return 2;
}
