// SPDX-License-Identifier: BSD-3-Clause
/// @file test_brief.c
/// What is learnt about bursts that the pushing thread finishes alone: after how many its pushes wake no
/// worker, for how many tasks, and what takes that back.
#include <stdio.h>
#include <string.h>

#include "../../../sleep/ws_brief.h"
#include "../../support/ws_test.h"

#define MOST 40u ///< no burst of the table has more tasks

static void learn(ws_brief_site_t *site, uint64_t tasks, bool alone, uint32_t times)
{
  for (uint32_t i = 0; i < times; i++)
    ws_brief_learn(site, tasks, alone);
}

/// @return up to how many waiting tasks a push wakes no worker
static uint64_t spares(const ws_brief_site_t *site)
{
  uint64_t waiting = 0;
  while (waiting < MOST && ws_brief_spares(site, waiting + 1))
    waiting++;
  return waiting;
}

static void histories_spare_wakes_for_so_many_tasks(void)
{
  static const struct {
    const char *what;
    uint32_t alone; ///< bursts of two tasks, at first
    struct {
      uint32_t times;
      uint64_t tasks;
      bool alone;
    } then[2];
    uint32_t rounds; ///< of these
    uint64_t spares; ///< after each round
  } rows[] = {
      {"one burst too few", WS_BRIEF_ENOUGH - 1, {{0}}, 1, 0},
      {"enough", WS_BRIEF_ENOUGH, {{0}}, 1, 2},
      {"rare bursts with help change nothing", 1000, {{60, 2, true}, {1, 2, false}}, 100, 2},
      {"two of them in a row end it", 1000, {{2, 2, false}}, 1, 0},
      {"bursts that are often helped", 0, {{9, 2, true}, {1, 2, false}}, 1000, 0},
      {"a wider burst with help tells nothing", WS_BRIEF_ENOUGH, {{1, 2, true}, {1, 38, false}}, 100, 2},
      {"a wider burst alone widens", WS_BRIEF_ENOUGH, {{1, 5, true}}, 1, 5},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    ws_brief_site_t site = {0};
    uint32_t wrong = 0;
    learn(&site, 2, true, rows[i].alone);
    for (uint32_t round = 0; round < rows[i].rounds; round++) {
      for (uint32_t k = 0; k < 2; k++)
        learn(&site, rows[i].then[k].tasks, rows[i].then[k].alone, rows[i].then[k].times);
      wrong += spares(&site) != rows[i].spares;
    }
    if (wrong > 0)
      printf("\n    %s: %u rounds\n", rows[i].what, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
  }
}

static void other(void *unused)
{
  (void)unused;
}

static void functions_have_sites_of_their_own(void)
{
  ws_brief_t its;
  memset(&its, 0, sizeof(its));
  const uint32_t at = ws_brief_find(&its, test_empty_task);
  learn(&its.site[at], 2, true, WS_BRIEF_ENOUGH);
  CU_ASSERT_EQUAL(ws_brief_find(&its, test_empty_task), at);
  CU_ASSERT_EQUAL(spares(&its.site[at]), 2);
  CU_ASSERT_EQUAL(spares(&its.site[ws_brief_find(&its, other)]), 0); // perhaps in the same place
}

TEST_MAIN("brief", TEST_CASE(histories_spare_wakes_for_so_many_tasks),
          TEST_CASE(functions_have_sites_of_their_own))
