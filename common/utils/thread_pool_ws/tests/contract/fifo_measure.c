// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_measure.c
/// Shape A, measurements: stamps in the element, and the pipe that pulled elements are written to.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract.h"

#define PIPE_VARIABLE "OAI_THREADPOOLMEASUREMENTS"
#define ELEMENTS 20

static void spend_time(void *counter)
{
  for (volatile uint32_t i = 0; i < 1000; i++)
    ;
  ++*(uint32_t *)counter;
}

static tpool_t *measured_pool(const char *params, bool measure)
{
  char text[32];
  strcpy(text, params);
  tpool_t *pool = contract_memory();
  initTpool(text, pool, measure);
  return pool;
}

static bool in_order(const notifiedFIFO_elt_t *elt)
{
  return elt->creationTime != 0 && elt->creationTime <= elt->startProcessingTime
         && elt->startProcessingTime < elt->endProcessingTime && elt->endProcessingTime <= elt->returnTime;
}

/// @return how many of the elements pulled had all stamps, in order; with a copy of each in @p copy
static uint32_t push_and_pull(tpool_t *pool, notifiedFIFO_elt_t copy[ELEMENTS], bool poll)
{
  notifiedFIFO_t response;
  uint32_t good = 0;
  initNotifiedFIFO(&response);
  for (uint64_t key = 0; key < ELEMENTS; key++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(uint32_t), key, &response, spend_time);
    *(uint32_t *)NotifiedFifoData(elt) = 0;
    pushTpool(pool, elt);
  }
  for (uint32_t i = 0; i < ELEMENTS; i++) {
    notifiedFIFO_elt_t *elt = NULL;
    while (!elt)
      elt = poll ? tryPullTpool(&response, pool) : pullTpool(&response, pool);
    const time_stats_t stats = exec_time_stats_NotifiedFIFO(elt);
    good += in_order(elt) && stats.trials == 1 && stats.in == elt->startProcessingTime
            && stats.diff == elt->endProcessingTime - elt->startProcessingTime;
    memcpy(&copy[i], elt, sizeof(*elt));
    delNotifiedFIFO_elt(elt);
  }
  return good;
}

static void measure_flag_stamps_elements(void)
{
  notifiedFIFO_elt_t copy[ELEMENTS];
  unsetenv(PIPE_VARIABLE);
  tpool_t *pool = measured_pool("-1,-1", true);
  CU_ASSERT_EQUAL(push_and_pull(pool, copy, false), ELEMENTS);
  CU_ASSERT_EQUAL(push_and_pull(pool, copy, true), ELEMENTS);
  contract_end(pool);
}

static void measure_flag_stamps_inline_elements(void)
{
  notifiedFIFO_elt_t copy[ELEMENTS];
  unsetenv(PIPE_VARIABLE);
  CU_ASSERT_EQUAL(push_and_pull(measured_pool("n", true), copy, false), ELEMENTS);
}

static void measure_pipe(bool poll)
{
  char directory[] = P_tmpdir "/contract-XXXXXX", path[sizeof(directory) + 8];
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
  snprintf(path, sizeof(path), "%s/pipe", directory);
  setenv(PIPE_VARIABLE, path, 1);
  tpool_t *pool = measured_pool("-1,-1", false);
  struct stat status;
  CU_ASSERT_EQUAL(stat(path, &status), 0);
  CU_ASSERT_TRUE(S_ISFIFO(status.st_mode));
  const int reader = open(path, O_RDONLY | O_NONBLOCK);
  CU_ASSERT_TRUE_FATAL(reader >= 0);
  notifiedFIFO_elt_t copy[ELEMENTS], read_back;
  CU_ASSERT_EQUAL(push_and_pull(pool, copy, poll), ELEMENTS);
  for (uint32_t i = 0; i < ELEMENTS; i++) {
    CU_ASSERT_EQUAL(read(reader, &read_back, sizeof(read_back)), (ssize_t)sizeof(read_back));
    CU_ASSERT_EQUAL(read_back.key, copy[i].key);
    CU_ASSERT_TRUE(in_order(&read_back));
    CU_ASSERT_EQUAL(read_back.returnTime, copy[i].returnTime);
  }
  CU_ASSERT_TRUE(read(reader, &read_back, 1) <= 0);
  close(reader);
  contract_end(pool);
  unlink(path);
  rmdir(directory);
}

/// The raw element, its size and members as they are in memory, once for each element pulled.
static void measure_pipe_gets_each_element_pulled(void)
{
  measure_pipe(false);
}

static void measure_pipe_gets_each_element_polled(void)
{
  measure_pipe(true);
}

const contract_case_t fifo_measure_cases[] = {
    CASE(measure_flag_stamps_elements),
    CASE(measure_flag_stamps_inline_elements),
    CASE(measure_pipe_gets_each_element_pulled),
    CASE(measure_pipe_gets_each_element_polled),
    CASES_END,
};
