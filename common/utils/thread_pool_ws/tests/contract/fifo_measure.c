// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_measure.c
/// Shape A, measurements: stamps in the element, and the pipe that pulled elements are written to.
#include <fcntl.h>
#include <sys/stat.h>

#include "contract.h"

#define PIPE_VARIABLE "OAI_THREADPOOLMEASUREMENTS"
#define ELEMENTS 20

static void spend_time(void *unused)
{
  for (volatile uint32_t i = 0; i < 1000; i++)
    ;
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
  for (uint64_t key = 0; key < ELEMENTS; key++)
    pushTpool(pool, newNotifiedFIFO_elt(0, key, &response, spend_time));
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

/// The raw element, its size and members as they are in memory, once for each element pulled.
static void check_pipe(int reader, const notifiedFIFO_elt_t copy[ELEMENTS])
{
  notifiedFIFO_elt_t read_back;
  CU_ASSERT_TRUE_FATAL(reader >= 0);
  for (uint32_t i = 0; i < ELEMENTS; i++) {
    CU_ASSERT_EQUAL(read(reader, &read_back, sizeof(read_back)), (ssize_t)sizeof(read_back));
    CU_ASSERT_EQUAL(read_back.key, copy[i].key);
    CU_ASSERT_TRUE(in_order(&read_back));
    CU_ASSERT_EQUAL(read_back.returnTime, copy[i].returnTime);
  }
  CU_ASSERT_TRUE(read(reader, &read_back, 1) <= 0);
}

/// A pipe measures without the flag.
static const struct {
  const char *params;
  bool pipe, poll;
} rows[] = {{"-1,-1", false, false}, {"-1,-1", false, true}, {"n", false, false},
            {"n", false, true},      {"-1,-1", true, false}, {"-1,-1", true, true}};

CONTRACT_CASE(elements_are_stamped_and_written_to_a_pipe)
{
  char directory[] = P_tmpdir "/contract-XXXXXX", path[sizeof(directory) + 8], params[8];
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
  snprintf(path, sizeof(path), "%s/pipe", directory);
  unsetenv(PIPE_VARIABLE);
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    notifiedFIFO_elt_t copy[ELEMENTS];
    struct stat status = {0};
    tpool_t *pool = contract_memory();
    if (rows[i].pipe)
      setenv(PIPE_VARIABLE, path, 1);
    snprintf(params, sizeof(params), "%s", rows[i].params);
    initTpool(params, pool, !rows[i].pipe);
    CU_ASSERT_TRUE(!rows[i].pipe || (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)));
    const int reader = rows[i].pipe ? open(path, O_RDONLY | O_NONBLOCK) : -1;
    CU_ASSERT_EQUAL(push_and_pull(pool, copy, rows[i].poll), ELEMENTS);
    if (rows[i].pipe)
      check_pipe(reader, copy);
    close(reader);
    contract_end(pool);
  }
  unlink(path);
  rmdir(directory);
}

TEST_MAIN("fifo_measure")
