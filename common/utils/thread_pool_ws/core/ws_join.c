// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_join.c
/// Life of a task, step 7: join. Before: ws_group.c. Help, spin, sleep.
#include "ws_find.h"
#include "ws_group_word.h"
#include "ws_lane.h"
#include "ws_park.h"
#include "ws_run.h"
#include "ws_spin.h"

/// Run tasks of the group from the caller's own queues until there are none. @return whether any ran
static bool run_own(struct ws_pool_s *pool, ws_here_t here, ws_group_t *group, uint64_t *mark)
{
  ws_task_t task;
  uint32_t units = 0, others = 0;
  // When it has run all that was left of the group, it only has to complete it.
  while (ws_group_units(group) != units && ws_find_own(pool, here, group, mark, &task)) {
    if (task.group == group) {
      ws_run(pool, here.queue, &task);
      units++;
      continue;
    }
    if (units > 0) // what a task of the group has pushed may wait for it
      ws_group_complete(group, units);
    ws_run(pool, here.queue, &task);
    if (task.group)
      ws_group_complete(task.group, 1);
    others += units + 1;
    units = 0;
  }
  if (units > 0)
    ws_group_complete(group, units);
  ws_count_run(here.queue, units + others);
  return units + others > 0;
}

/// A thread outside that works earns the pool's workers time to spin; a worker's own time is counted in
/// ws_spin.
static bool help_own(struct ws_pool_s *pool, ws_here_t here, ws_group_t *group, uint64_t *mark)
{
  if (here.worker || here.queue->depth > 0)
    return run_own(pool, here, group, mark);
  const uint64_t start_ns = ws_os_now_ns();
  const bool ran = run_own(pool, here, group, mark);
  if (ran)
    ws_spin_earn(pool, ws_os_now_ns() - start_ns);
  return ran;
}

/// Run one task that a task of the group has pushed.
static bool help_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group)
{
  ws_task_t task;
  if (!ws_find_below(pool, here, group, &task))
    return false;
  ws_run_whole(pool, here.queue, &task);
  return true;
}

/// Spin until the group is done or something to help with turns up. A worker spins no longer than an idle one
/// may: it keeps a place that others could fill. @return false when the time is over
static bool spin(struct ws_pool_s *pool, ws_here_t here, ws_group_t *group)
{
  const uint64_t ns_max = here.worker ? pool->settings.spin_ns_max : pool->settings.join_spin_ns_max;
  const uint64_t start_ns = ws_os_now_ns();
  while (here.worker ? ws_may_spin(pool) : pool->cpus > 1) {
    for (uint32_t turn = 0; turn < 8; turn++) {
      if (ws_group_done(group) || help_below(pool, here, group))
        return true;
      ws_pause();
    }
    if (ws_os_now_ns() - start_ns > ns_max)
      break;
  }
  return false;
}

/// Help, spin, sleep: see ws_group.h.
static void join(struct ws_pool_s *pool, ws_here_t here, ws_group_t *group)
{
  uint64_t mark = ws_find_mark(here);
  while (!ws_group_done(group)) {
    if (help_own(pool, here, group, &mark) || spin(pool, here, group))
      continue;
    if (!here.worker)
      ws_note_idle(pool); // it may have run the pool's last task; a worker does so when it runs dry
    ws_block_begin(pool, here);
    ws_group_sleep(group);
    ws_block_end(pool, here);
  }
}

void ws_group_wait(ws_group_t *group, struct ws_pool_s *pool)
{
  if (ws_group_done(group))
    return;
  const ws_here_t here = pool && pool->workers > 0 ? ws_here(pool) : (ws_here_t){0};
  if (!here.queue) {
    ws_group_sleep(group);
    return;
  }
  const bool helper = !here.worker && here.queue->depth == 0; // once, however deep it joins
  if (helper)
    ws_helper_begin(pool, here);
  join(pool, here, group);
  if (helper) {
    ws_helper_end(pool, here);
    ws_note_idle(pool); // a worker does so when it runs dry
  }
  ws_give_back(pool, here);
}
