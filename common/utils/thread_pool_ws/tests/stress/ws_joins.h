// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_joins.h
/// Random programs of joins as users may write them, on real threads (test_stress_joins.c) and on the
/// simulated machine (sim/explore/sim_joins.c). A seed gives one program: each task draws from its own seed.
///
/// One or two pools of one or two workers, 0 to 3 lanes. Up to six threads outside come and go. A thread, and
/// a task, pushes tasks of a goal (a group, a tag, a weak tag, an event) among up to 1,500 unrelated ones, of
/// all priorities, to one of the pools, and waits for the goal: once, or with time limits until it is in
/// time; with the pool or with NULL. Other threads and tasks wait for it, too. Pools end in their own tasks.
///
/// Why each program ends
///   owner   the thread or task that pushed a goal's tasks waits for it, and needs no other thread: it runs
///           them itself, or they run on another thread, which needs no more for that than the owner would
///   others  a thread outside may wait for any goal: no goal needs it. (An owner may make a thread that
///           waits for its goal, and joins that thread after its own wait.) A task waits for an outermost
///           goal of a thread with a higher number than the one from which it descends: so no wait is on a
///           cycle
///   free    a wait outside any task with NULL, or for a weak tag, needs a worker. So programs with such
///           waits have no tasks that wait for what other threads have pushed
#ifndef WS_JOINS_H
#define WS_JOINS_H

#include "../../include/ws_pool.h"

#define WS_JOINS_POOLS_MAX 2u
#define WS_JOINS_WORKERS_MAX 2u

/// Where a program is played.
typedef struct {
  ws_pool_t *pool[WS_JOINS_POOLS_MAX];
  int (*push)(ws_pool_t *pool, ws_task_t task); ///< ws_pool_push()
  void (*work)(uint64_t random); ///< compute for a time, or not at all
  void (*rest)(uint32_t times); ///< sleep, longer each time, so that no pool sees it
  void (*begins)(uint32_t pool); ///< a task of a pool has begun
  void (*wrong)(const char *what); ///< may return
} ws_joins_host_t;

/// What a program has done.
typedef struct {
  uint64_t tasks, waits;
} ws_joins_count_t;

/// @return the number of a program's pools
uint32_t ws_joins_pools(uint64_t seed);

/// @brief Draw the settings of one of them.
void ws_joins_settings(uint64_t seed, uint32_t pool, ws_settings_t *settings);

/// @brief Play the program on the calling thread and others. One at a time in a process. When it returns, its
/// threads have ended, and its tasks have run.
ws_joins_count_t ws_joins_play(const ws_joins_host_t *host, uint64_t seed);

/// @brief Play a program of loops (ws_loops.c) on such pools.
ws_joins_count_t ws_loops_play(const ws_joins_host_t *host, uint64_t seed);

#endif
