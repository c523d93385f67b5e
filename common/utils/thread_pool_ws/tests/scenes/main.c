// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// test_scenes: the scenes on real threads. Each table is a suite, each scene a case.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/ws_test.h"
#include "scene.h"

static void run_scene(void)
{
  for (const scene_table_t *table = scene_tables; table; table = table->next) {
    for (size_t i = 0; strcmp(table->name, test_suite_name()) == 0 && i < table->count; i++) {
      if (strcmp(table->scene[i].name, test_case_name()) != 0)
        continue;
      const char *failure = scene_play(&table->scene[i]);
      if (failure)
        fprintf(stderr, "\n%s: %s: %s\n", table->name, table->scene[i].name, failure);
      CU_ASSERT_PTR_NULL(failure);
      return;
    }
  }
}

static void add_suite(const scene_table_t *table)
{
  test_suite_t *suite = calloc(1, sizeof(*suite));
  test_case_t *cases = calloc(table->count, sizeof(*cases));
  if (!suite || !cases)
    abort();
  *suite = (test_suite_t){.name = table->name, .cases = cases};
  for (size_t i = 0; i < table->count; i++)
    if (!scene_is_simulated(&table->scene[i]))
      cases[suite->count++] = (test_case_t){table->scene[i].name, run_scene, false};
  test_add(suite);
}

int main(int count, char **words)
{
  for (const scene_table_t *table = scene_tables; table; table = table->next)
    add_suite(table);
  return test_run(count - 1, words + 1);
}
