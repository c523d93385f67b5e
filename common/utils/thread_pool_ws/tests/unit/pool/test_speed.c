// SPDX-License-Identifier: BSD-3-Clause
/// @file test_speed.c
/// Which CPUs are slow, from files as machines with unlike cores have them, and that fast ones are used
/// first. Linked with --wrap: the files and the CPUs are the test's.
#include "../../../pool/ws_speed.h"

#include <stdio.h>
#include <string.h>

#include "../../../pool/ws_near.h"
#include "../../../prewake/ws_prewake.h"
#include "../../../prewake/ws_prewake_state.h"
#include "../../support/ws_test.h"

#define CPUS 8u

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes);
bool __wrap_ws_os_cpuset_has(const ws_cpuset_t *set, uint32_t cpu);
uint32_t __wrap_ws_os_cpuset_count(const ws_cpuset_t *set);

enum { CAPACITY, FREQUENCY, PERFORMANCE, FILES };
static const char *const files[FILES] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq",
                                         "acpi_cppc/highest_perf"};
static uint32_t value[FILES][CPUS]; ///< 0 = there is no such file
static const char *atoms; ///< the list of E cores; NULL = none
static uint32_t allowed; ///< CPUs of the pool

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes)
{
  char file[64];
  unsigned cpu;
  if (strcmp(path, "/sys/devices/cpu_atom/cpus") == 0 && atoms) {
    snprintf(text, bytes, "%s\n", atoms);
    return true;
  }
  if (sscanf(path, "/sys/devices/system/cpu/cpu%u/%63s", &cpu, file) != 2 || cpu >= CPUS)
    return false;
  for (uint32_t i = 0; i < FILES; i++) {
    if (strcmp(file, files[i]) != 0 || value[i][cpu] == 0)
      continue;
    snprintf(text, bytes, "%u\n", value[i][cpu]);
    return true;
  }
  return false;
}

bool __wrap_ws_os_cpuset_has(const ws_cpuset_t *set, uint32_t cpu)
{
  (void)set;
  return cpu < CPUS && ((allowed >> cpu) & 1);
}

uint32_t __wrap_ws_os_cpuset_count(const ws_cpuset_t *set)
{
  (void)set;
  return (uint32_t)__builtin_popcount(allowed);
}

static ws_cpuset_t mask = {.bytes = 8};
static ws_speed_t speed;

static void begin(void)
{
  memset(value, 0, sizeof(value));
  atoms = NULL;
  allowed = (1u << CPUS) - 1;
}

/// CPUs from @p first on have another value.
static void write_files(uint32_t file, uint32_t before, uint32_t first, uint32_t from)
{
  for (uint32_t cpu = 0; cpu < CPUS; cpu++)
    value[file][cpu] = cpu < first ? before : from;
}

/// @return the slow CPUs, as bits
static uint32_t slow(void)
{
  uint32_t bits = 0;
  ws_speed_read(&mask, &speed);
  for (uint32_t cpu = 0; cpu < CPUS; cpu++)
    bits |= (uint32_t)ws_speed_is_slow(&speed, (int32_t)cpu) << cpu;
  return bits;
}

static void each_source_by_itself(void)
{
  static const uint32_t values[FILES][2] = {{1024, 718}, {5000000, 3800000}, {68, 41}};
  for (uint32_t file = 0; file < FILES; file++) {
    begin();
    write_files(file, values[file][0], 5, values[file][1]);
    CU_ASSERT_EQUAL(slow(), 0xe0);
    CU_ASSERT_EQUAL(speed.fast, 5);
    begin();
    write_files(file, values[file][1], 3, values[file][0]);
    CU_ASSERT_EQUAL(slow(), 0x07);
    CU_ASSERT_EQUAL(speed.fast, 5);
  }
  begin();
  atoms = "4,6-7";
  CU_ASSERT_EQUAL(slow(), 0xd0);
  CU_ASSERT_EQUAL(speed.fast, 5);
}

/// A source that shows no difference, or is not there for each CPU, leaves it to the next one.
static void the_next_source(void)
{
  begin();
  write_files(CAPACITY, 1024, 4, 1024);
  write_files(FREQUENCY, 5000000, 6, 3000000);
  CU_ASSERT_EQUAL(slow(), 0xc0);
  begin();
  write_files(CAPACITY, 1024, 4, 500);
  value[CAPACITY][2] = 0;
  write_files(PERFORMANCE, 100, 7, 50);
  CU_ASSERT_EQUAL(slow(), 0x80);
  begin();
  write_files(CAPACITY, 1024, 2, 500);
  write_files(FREQUENCY, 5000000, 6, 3000000);
  CU_ASSERT_EQUAL(slow(), 0xfc); // the first one decides
}

/// AMD's firmware gives cores of one kind performances in steps, the order in which to use them.
static void a_rank_is_no_speed(void)
{
  begin();
  write_files(FREQUENCY, 5700000, 4, 5700000);
  for (uint32_t cpu = 0; cpu < CPUS; cpu++)
    value[PERFORMANCE][cpu] = 236 - 10 * cpu;
  CU_ASSERT_EQUAL(slow(), 0);
  CU_ASSERT_EQUAL(speed.fast, 0);
  atoms = "4-7"; // the next source decides
  CU_ASSERT_EQUAL(slow(), 0xf0);
}

static void alike(void)
{
  begin();
  CU_ASSERT_EQUAL(slow(), 0); // nothing is known
  CU_ASSERT_EQUAL(speed.fast, 0);
  write_files(CAPACITY, 1024, 4, 1024);
  CU_ASSERT_EQUAL(slow(), 0);
  write_files(FREQUENCY, 5700000, 2, 5000000); // the best CPUs of a chip
  CU_ASSERT_EQUAL(slow(), 0);
  CU_ASSERT_EQUAL(speed.fast, 0);
  begin();
  atoms = "0-7"; // of E cores only
  CU_ASSERT_EQUAL(slow(), 0);
  begin();
  atoms = "no list";
  CU_ASSERT_EQUAL(slow(), 0);
  begin();
  allowed = 0xf0; // the process may use CPUs of one kind only
  write_files(CAPACITY, 1024, 4, 500);
  CU_ASSERT_EQUAL(slow(), 0);
  CU_ASSERT_FALSE(ws_speed_is_slow(&speed, -1));
  write_files(CAPACITY, 1024, 6, 500);
  CU_ASSERT_FALSE(ws_speed_is_slow(&speed, 2000));
}

#define WORKERS 6u
static struct ws_pool_s pool;
static ws_worker_t workers[WORKERS];
static ws_worker_t *worker_of[WORKERS];
static ws_prewake_pool_t prewake;

/// Worker i sleeps on CPU i. CPUs 0 and 1 are slow.
static void begin_pool(uint32_t producer)
{
  begin();
  write_files(CAPACITY, 400, 2, 1024);
  memset(&pool, 0, sizeof(pool));
  memset(workers, 0, sizeof(workers));
  pool.prewake = &prewake;
  pool.worker = worker_of;
  pool.workers = WORKERS;
  pool.cpus = pool.worker_cpus = CPUS;
  pool.mask.bytes = 8;
  ws_store_relaxed(&pool.producer_cpu, 1 + producer);
  ws_near_plan(&pool);
  for (uint32_t i = 0; i < WORKERS; i++) {
    worker_of[i] = &workers[i];
    workers[i].pool = &pool;
    workers[i].index = i;
    ws_store_relaxed(&workers[i].seen_cpu, 1 + i);
    ws_near_moved(&workers[i]);
  }
}

/// Of several sleepers the near ones are woken first, and set their timers first (ws_wake.c, ws_prewake.c).
static void workers_on_slow_cpus_are_near_no_producer(void)
{
  for (uint32_t producer = 0; producer < CPUS; producer++) {
    begin_pool(producer);
    for (uint32_t i = 0; i < WORKERS; i++)
      CU_ASSERT_EQUAL(ws_near_is(&pool, &workers[i]), i >= 2);
    CU_ASSERT_EQUAL(ws_near_count(&pool), WORKERS - 2);
  }
  ws_store_relaxed(&workers[0].seen_cpu, 1 + 7); // it moves to a fast one, and back
  ws_near_moved(&workers[0]);
  CU_ASSERT_EQUAL(ws_near_count(&pool), WORKERS - 1);
  ws_store_relaxed(&workers[0].seen_cpu, 1 + 1);
  ws_near_moved(&workers[0]);
  CU_ASSERT_EQUAL(ws_near_count(&pool), WORKERS - 2);
}

TEST_MAIN("speed", TEST_CASE(each_source_by_itself), TEST_CASE(the_next_source),
          TEST_CASE(a_rank_is_no_speed), TEST_CASE(alike),
          TEST_CASE(workers_on_slow_cpus_are_near_no_producer))
