// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_sim_line: a cache line between two CPUs of a simulated machine. The program that measures real machines
/// (calibrate/line.c) runs there, so it measures what tables of core-to-core latencies do: compare-and-swaps
/// in turns, from one CPU to the other. Words "name=value": of the machine (sim_machine.h), cpu, other and
/// ahead_ns (as ws_sim_time has it). Prints one JSON object, whose figures are simulated.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "micro.h"
#include "sim_libc.h"
#include "sim_memory.h"
#include "sim_random.h"

static uint32_t cpu, other = 1;
static double ahead_ns = -1; ///< < 0: a quarter of what a line takes
static bool over;

static bool read_option(const char *word)
{
  if (strncmp(word, "cpu=", 4) == 0)
    cpu = (uint32_t)strtoul(word + 4, NULL, 10);
  else if (strncmp(word, "other=", 6) == 0)
    other = (uint32_t)strtoul(word + 6, NULL, 10);
  else if (strncmp(word, "ahead_ns=", 9) == 0)
    ahead_ns = atof(word + 9);
  else
    return sim_machine_set(word);
  return true;
}

static void *measure(void *unused)
{
  micro_line(cpu, other);
  over = true;
  sim_sleep(0);
  return unused;
}

static bool is_over(void)
{
  return over;
}

int main(int argc, char **argv)
{
  sim_machine_default();
  sim_random_seed(1);
  for (int i = 1; i < argc; i++) {
    if (!read_option(argv[i])) {
      fprintf(stderr, "ws_sim_line: \"%s\" is no option, no cost of a machine, or no value\n", argv[i]);
      return 2;
    }
  }
  if (cpu == other || cpu >= sim_machine.cpus || other >= sim_machine.cpus) {
    fprintf(stderr, "ws_sim_line: cpu=%u, other=%u: expected two of %u CPUs\n", cpu, other, sim_machine.cpus);
    return 2;
  }
  sim_ahead_ps = sim_ps(ahead_ns >= 0 ? ahead_ns : sim_machine.llc_ns / 4);
  sim_libc_reset();
  sim_memory_reset();
  sim_threads_reset();
  sim_thread_new(NULL, measure, NULL, SIM_PS_PER_S);
  if (!sim_run(is_over, 61 * SIM_PS_PER_S)) {
    fprintf(stderr, "ws_sim_line: it did not end within a minute of virtual time\n");
    return 1;
  }
  return 0;
}
