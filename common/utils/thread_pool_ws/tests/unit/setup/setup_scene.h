// SPDX-License-Identifier: BSD-3-Clause
/// @file setup_scene.h
/// What the tests of this folder share: whether a pool works.
#ifndef SETUP_SCENE_H
#define SETUP_SCENE_H

#include "../../support/ws_test.h" // IWYU pragma: export

/// @return whether each of 100 tasks has run once, for a group and for the pool
static inline bool runs_hundred(ws_pool_t *pool)
{
  ws_au64_t count = {0};
  test_burst(pool, 100, test_count_task, &count);
  return ws_pool_wait(pool) == 0 && test_value(&count) == 100;
}

#endif
