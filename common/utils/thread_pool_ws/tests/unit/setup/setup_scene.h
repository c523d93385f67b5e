// SPDX-License-Identifier: BSD-3-Clause
/// @file setup_scene.h
/// What the tests of this folder share: whether a pool works.
#ifndef SETUP_SCENE_H
#define SETUP_SCENE_H

#include "../../support/ws_test.h"

/// @return whether each of 100 tasks has run once, for a group and for the pool
static inline bool runs_hundred(ws_pool_t *pool)
{
  ws_au64_t count = {0};
  ws_group_t group;
  ws_group_init(&group, 100);
  for (uint32_t i = 0; i < 100; i++)
    test_push(pool, test_count_task, &count, &group);
  ws_group_wait(&group, pool);
  return ws_pool_wait(pool) == 0 && test_value(&count) == 100;
}

#endif
