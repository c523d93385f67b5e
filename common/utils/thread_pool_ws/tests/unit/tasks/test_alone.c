// SPDX-License-Identifier: BSD-3-Clause
/// @file test_alone.c
/// What is learnt about bursts that the pushing thread finishes alone: after how many its pushes wake no
/// worker, for how many tasks, and what takes that back.
#include <string.h>

#include "../../../tasks/ws_alone.h"
#include "../../support/ws_test.h"

static void learn(ws_alone_site_t *site, uint64_t tasks, bool alone, uint32_t times)
{
  for (uint32_t i = 0; i < times; i++)
    ws_alone_learn(site, &(ws_alone_burst_t){.tasks = tasks, .alone = alone});
}

static void bursts_alone_spare_wakes(void)
{
  ws_alone_site_t site = {0};
  learn(&site, 2, true, WS_ALONE_ENOUGH - 1);
  CU_ASSERT_FALSE(ws_alone_spares(&site, 1));
  learn(&site, 2, true, 1);
  CU_ASSERT_TRUE(ws_alone_spares(&site, 1));
  CU_ASSERT_TRUE(ws_alone_spares(&site, 2));
  CU_ASSERT_FALSE(ws_alone_spares(&site, 3));
}

static void a_rare_mistake_changes_nothing_and_two_in_a_row_end_it(void)
{
  ws_alone_site_t site = {0};
  learn(&site, 2, true, 1000);
  for (uint32_t i = 0; i < 100; i++) {
    learn(&site, 2, false, 1);
    CU_ASSERT_TRUE(ws_alone_spares(&site, 2));
    learn(&site, 2, true, 60);
  }
  learn(&site, 2, false, 2);
  CU_ASSERT_FALSE(ws_alone_spares(&site, 1));
}

static void bursts_that_are_often_helped_spare_nothing(void)
{
  ws_alone_site_t site = {0};
  for (uint32_t i = 0; i < 1000; i++) {
    learn(&site, 2, true, 9);
    learn(&site, 2, false, 1);
    CU_ASSERT_FALSE(ws_alone_spares(&site, 1));
  }
}

static void a_wider_burst_with_help_says_nothing_about_narrow_ones(void)
{
  ws_alone_site_t site = {0};
  for (uint32_t i = 0; i < WS_ALONE_ENOUGH; i++) {
    learn(&site, 2, true, 1);
    learn(&site, 38, false, 1);
  }
  CU_ASSERT_TRUE(ws_alone_spares(&site, 2));
  CU_ASSERT_FALSE(ws_alone_spares(&site, 3));
}

static void a_wider_burst_alone_widens(void)
{
  ws_alone_site_t site = {0};
  learn(&site, 2, true, WS_ALONE_ENOUGH);
  learn(&site, 5, true, 1);
  CU_ASSERT_TRUE(ws_alone_spares(&site, 5));
}

static void one(void *arg)
{
  (void)arg;
}

static void two(void *arg)
{
  (void)arg;
}

static void functions_have_sites_of_their_own(void)
{
  ws_alone_t its;
  memset(&its, 0, sizeof(its));
  const uint32_t at = ws_alone_find(&its, one);
  learn(&its.site[at], 2, true, WS_ALONE_ENOUGH);
  CU_ASSERT_EQUAL(ws_alone_find(&its, one), at);
  CU_ASSERT_TRUE(ws_alone_spares(&its.site[at], 2));
  const uint32_t other = ws_alone_find(&its, two); // perhaps in the same place
  CU_ASSERT_FALSE(ws_alone_spares(&its.site[other], 1));
}

TEST_MAIN("alone", TEST_CASE(bursts_alone_spare_wakes),
          TEST_CASE(a_rare_mistake_changes_nothing_and_two_in_a_row_end_it),
          TEST_CASE(bursts_that_are_often_helped_spare_nothing),
          TEST_CASE(a_wider_burst_with_help_says_nothing_about_narrow_ones),
          TEST_CASE(a_wider_burst_alone_widens), TEST_CASE(functions_have_sites_of_their_own))
