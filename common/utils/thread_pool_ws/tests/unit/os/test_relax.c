// SPDX-License-Identifier: BSD-3-Clause
/// @file test_relax.c
/// Which wait a machine gets, how many pauses fill an iteration, and that measuring ends with any clock
/// (--wrap=ws_os_now_ns). No low-power instruction is run that this machine does not have.
#include <stdlib.h>
#include <string.h>

#include "../../../os/ws_relax.h"
#include "../../support/ws_test.h"

#define WAITPKG (1u << 5)
#define MONITORX (1u << 29)
#define WFXT ((uint64_t)1 << 31)

typedef enum { CLOCK_REAL, CLOCK_STANDS, CLOCK_COARSE, CLOCK_BACK } clock_kind_t;

static struct {
  clock_kind_t kind;
  ws_au32_t looks;
} world;

uint64_t __real_ws_os_now_ns(void);
uint64_t __wrap_ws_os_now_ns(void);

uint64_t __wrap_ws_os_now_ns(void)
{
  const uint32_t looks = ws_add_relaxed(&world.looks, 1);
  switch (world.kind) {
    case CLOCK_STANDS:
      return 1000000;
    case CLOCK_COARSE:
      return 1000000 + looks / 100 * 4000000u;
    case CLOCK_BACK:
      return 1000000000u - looks;
    default:
      return __real_ws_os_now_ns();
  }
}

static ws_relax_kind_t choice(uint32_t cpuid_7_ecx, uint32_t cpuid_80000001_ecx, uint64_t hwcap2, bool denied)
{
  return ws_relax_choose(&(ws_relax_machine_t){cpuid_7_ecx, cpuid_80000001_ecx, hwcap2, denied});
}

static void what_the_machine_offers(void)
{
  CU_ASSERT_EQUAL(choice(0, 0, 0, false), WS_RELAX_PAUSE);
  CU_ASSERT_EQUAL(choice(~WAITPKG, ~MONITORX, ~WFXT, false), WS_RELAX_PAUSE);
  CU_ASSERT_EQUAL(choice(WAITPKG, 0, 0, false), WS_RELAX_TPAUSE);
  CU_ASSERT_EQUAL(choice(0, MONITORX, 0, false), WS_RELAX_MWAITX);
  CU_ASSERT_EQUAL(choice(WAITPKG, MONITORX, 0, false), WS_RELAX_TPAUSE);
  CU_ASSERT_EQUAL(choice(0, 0, WFXT, false), WS_RELAX_WFET);
  CU_ASSERT_EQUAL(choice(WAITPKG, MONITORX, 0, true), WS_RELAX_PAUSE);
}

static void pauses_that_fill_a_turn(void)
{
  CU_ASSERT_EQUAL(ws_relax_pauses(64, 64 * 100), 1);
  CU_ASSERT_EQUAL(ws_relax_pauses(64, 64 * 47), 2); // 140 cycles at 3 GHz
  CU_ASSERT_EQUAL(ws_relax_pauses(64, 64 * 13), 8); // 40 cycles
  CU_ASSERT_EQUAL(ws_relax_pauses(64, 64 * 3), 33); // 10 cycles
  CU_ASSERT_EQUAL(ws_relax_pauses(64, 64 * 5000), 1); // a hypervisor takes each of them
  CU_ASSERT_EQUAL(ws_relax_pauses(64, UINT64_MAX / 2), 1);
  CU_ASSERT_EQUAL(ws_relax_pauses(64, 1), 1000); // an iteration takes no time: bounded
  CU_ASSERT_TRUE(ws_relax_pauses(64, 0) >= 1 && ws_relax_pauses(64, 0) <= 10); // not measured
}

static void low_power_waits_of_use(void)
{
  CU_ASSERT_TRUE(ws_relax_accepts(150));
  CU_ASSERT_TRUE(ws_relax_accepts(100));
  CU_ASSERT_TRUE(ws_relax_accepts(400));
  CU_ASSERT_FALSE(ws_relax_accepts(0)); // a hypervisor skips it
  CU_ASSERT_FALSE(ws_relax_accepts(20));
  CU_ASSERT_FALSE(ws_relax_accepts(2000)); // or traps it
  CU_ASSERT_FALSE(ws_relax_accepts(UINT64_MAX));
}

/// @return 0 = the name is one of those that there are, with 1 to 1000 pauses if it is of pauses
static int measure_and_relax(void *clock_kind)
{
  world.kind = *(clock_kind_t *)clock_kind;
  ws_relax(); // before the wait is chosen
  ws_relax_init();
  for (uint32_t turn = 0; turn < 1000; turn++)
    ws_relax();
  static const char *const low_power[] = {"tpause", "mwaitx", "wfet"};
  static const char *const pauses[] = {"pause x", "isb x", "loop x"};
  for (uint32_t i = 0; i < 3; i++) {
    if (strcmp(ws_relax_name(), low_power[i]) == 0)
      return 0;
    const size_t length = strlen(pauses[i]);
    if (strncmp(ws_relax_name(), pauses[i], length) == 0) {
      char *end = NULL;
      const long count = strtol(ws_relax_name() + length, &end, 10);
      return *end == '\0' && count >= 1 && count <= 1000 ? 0 : 1;
    }
  }
  return 2;
}

static void measuring_ends_whatever_the_clock_does(void)
{
  for (clock_kind_t kind = CLOCK_REAL; kind <= CLOCK_BACK; kind++)
    CU_ASSERT_EQUAL(test_in_child(measure_and_relax, &kind), 0);
}

static void *init_and_relax(void *names)
{
  ws_relax_init();
  const uint32_t place = ws_add_relaxed(&world.looks, 1) % 8;
  for (uint32_t turn = 0; turn < 100; turn++)
    ws_relax();
  ((const char **)names)[place] = ws_relax_name();
  return NULL;
}

static void many_threads_measure_once(void)
{
  const char *names[8] = {NULL};
  test_threads_t threads = {0};
  world.kind = CLOCK_STANDS; // so that only init_and_relax counts
  ws_relax_init();
  const uint32_t looks = ws_load_relaxed(&world.looks);
  for (uint32_t i = 0; i < 8; i++)
    test_spawn(&threads, init_and_relax, names);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&world.looks), looks + 8); // the clock was not read again
  for (uint32_t i = 0; i < 8; i++)
    CU_ASSERT_PTR_EQUAL(names[i], ws_relax_name());
  world.kind = CLOCK_REAL;
}

TEST_MAIN("relax", TEST_CASE(what_the_machine_offers), TEST_CASE(pauses_that_fill_a_turn),
          TEST_CASE(low_power_waits_of_use), TEST_CASE(measuring_ends_whatever_the_clock_does),
          TEST_CASE(many_threads_measure_once))
