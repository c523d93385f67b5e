// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_sim_wakes: tests/lab/wakes.c on the simulated machine. The rounds of a rule are all alike there.
#include <stdio.h>

#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_machine.h"

#define END_PS (120 * SIM_PS_PER_S)

int wakes_main(int count, char **words);

static int status = 1;
static bool is_over;

static bool over(void)
{
  return is_over;
}

static void *play(void *unused)
{
  char name[] = "wakes", rounds[] = "3";
  status = wakes_main(2, (char *[]){name, rounds, NULL});
  is_over = true;
  return unused;
}

int main(void)
{
  sim_machine_default();
  sim_machine.cpus = sim_machine.llc_cpus = sim_machine.node_cpus = 8;
  sim_disturb_reset();
  const sim_thread_t like = {.allowed = {(UINT64_C(1) << 8) - 1}, .slack_ns = 50000};
  sim_thread_new(&like, play, NULL, SIM_PS_PER_S);
  if (!sim_run(over, END_PS))
    printf("it does not end within 120 s of virtual time\n");
  return status;
}
