// SPDX-License-Identifier: BSD-3-Clause
/// @file test_relax.c
/// How many pauses fill an iteration, by a clock of the test (--wrap=ws_os_now_ns). They are measured once.
#include "../../../os/ws_os.h"
#include "../../support/ws_seam.h"

static struct {
  uint64_t step_ns; ///< from one look at the clock to the next
  ws_au32_t looks;
} world;

static uint64_t ws_os_now_ns_seam(void)
{
  return 1000000000u + world.step_ns * ws_add_relaxed(&world.looks, 1);
}

typedef struct {
  uint64_t step_ns; ///< what 64 pauses take
  uint32_t pauses;
} measure_t;

/// @return 0 = as many pauses as wanted
static int measure(void *wanted_arg)
{
  const measure_t *wanted = wanted_arg;
  world.step_ns = wanted->step_ns;
  ws_relax_init();
  ws_relax();
  return ws_relax_pauses == wanted->pauses ? 0 : 1;
}

TEST_CASE(pauses_that_fill_an_iteration)
{
  static measure_t wanted[] = {
      {64 * 100, 1},   {64 * 47, 2}, // 140 cycles at 3 GHz
      {64 * 13, 8}, // 40 cycles
      {64 * 3, 33}, // 10 cycles
      {64 * 5000, 1}, // a hypervisor takes each of them
      {1, 6400}, // a pause takes no time
      {0, 1}, // the clock stands
      {UINT64_MAX, 1}, // the clock goes back
  };
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++)
    CU_ASSERT_EQUAL(test_in_child(measure, &wanted[i]), 0);
}

static void *init_and_relax(void *unused)
{
  ws_relax_init();
  ws_relax();
  return NULL;
}

TEST_CASE(many_threads_measure_once)
{
  test_in_threads(8, init_and_relax, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&world.looks), 6); // before and after each of three tries
}

TEST_MAIN_SEAMS("relax", SEAM(ws_os_now_ns))
