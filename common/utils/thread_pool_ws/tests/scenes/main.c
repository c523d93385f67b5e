// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// test_scenes: the scenes on real threads. Each table is a suite, each scene a case.

#include "../support/ws_death.h"
#include "scene.h"

enum { CHILD_GOOD = 9 }; ///< not 0: a fiber that goes astray ends its process with that

static const scene_t *apart;

static int play_in_child(void *unused)
{
  return scene_play(apart) ? 1 : CHILD_GOOD;
}

static void play_to_death(void)
{
  scene_play(apart);
}

/// "apart": in a process of its own. "dies MESSAGE": in one that must end with that message.
static void run_apart(const scene_t *scene)
{
  char message[128] = "";
  apart = scene;
  const bool dies = sscanf(scene->text, "dies %127[^\n]", message) == 1;
  CU_ASSERT_TRUE(dies ? dies_with(play_to_death, message) : test_in_child(play_in_child, NULL) == CHILD_GOOD);
}

static void run_scene(void)
{
  for (const scene_table_t *table = scene_tables; table; table = table->next) {
    for (size_t i = 0; strcmp(table->name, test_suite_name()) == 0 && i < table->count; i++) {
      if (strcmp(table->scene[i].name, test_case_name()) != 0)
        continue;
      if (strncmp(table->scene[i].text, "dies ", 5) == 0 || strncmp(table->scene[i].text, "apart", 5) == 0) {
        run_apart(&table->scene[i]);
        return;
      }
      CU_ASSERT_PTR_NULL(scene_play(&table->scene[i]));
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
  suite->name = table->name;
  for (size_t i = 0; i < table->count; i++) {
    cases[i] = (test_case_t){table->scene[i].name, run_scene, 0, NULL};
    if (!scene_is_simulated(&table->scene[i]))
      test_add_case(suite, &cases[i]);
  }
  test_add(suite);
}

int main(int count, char **words)
{
  for (const scene_table_t *table = scene_tables; table; table = table->next)
    add_suite(table);
  test_seams_reset = NULL; // what operations have in the seam stays there
  return test_run(count - 1, words + 1);
}
