// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pause.c
/// Pause, resume and purge: ws_pool.h. A paused pool looks empty to its workers (ws_work_visible(),
/// ws_find()), so they park. The resume is, for sleep and wake, a push of all that is queued: it changes the
/// word that a worker reads after its last fence, fences, and wakes a worker, which wakes others. A push that
/// sees the pause leaves the wake to the resume, whose fence then comes after that push's [PARK_DEKKER].
#include "ws_pause.h"

#include <errno.h>

#include "../pool/ws_lane.h"
#include "../pool/ws_observer.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_places.h"
#include "ws_push.h"
#include "ws_run.h"

static int change(ws_pool_t *pool, const char *call, uint32_t from, uint32_t to)
{
  ws_not_observing(call);
  if (!pool || pool->workers == 0)
    return -EINVAL;
  if (ws_is_lost(pool))
    return -ESRCH;
  uint32_t seen = from;
  if (ws_cas_acq_rel(&pool->tasks.paused, &seen, to)) // [edge PARK_DEKKER acq_rel] before the fence
    return 1;
  return seen == WS_PAUSE_NEVER ? -ECANCELED : 0;
}

/// Workers may take tasks again: as after a push.
static void wake(struct ws_pool_s *pool)
{
  ws_fence_seq_cst(); // [edge PARK_DEKKER fence] the end of the pause before sleepers and searching
  ws_post_elsewhere(pool, ws_here_known(pool));
  ws_note_idle(pool); // threads in ws_pool_wait() may help again
}

int ws_pool_pause(ws_pool_t *pool)
{
  const int result = change(pool, "ws_pool_pause", WS_PAUSE_NO, WS_PAUSE_YES);
  return result < 0 ? result : 0;
}

int ws_pool_resume(ws_pool_t *pool)
{
  const int result = change(pool, "ws_pool_resume", WS_PAUSE_YES, WS_PAUSE_NO);
  if (result > 0)
    wake(pool);
  return result < 0 ? result : 0;
}

bool ws_pool_is_paused(const ws_pool_t *pool)
{
  return pool && ws_is_paused(&pool->tasks);
}

void ws_pause_end(struct ws_pool_s *pool)
{
  // [edge PARK_DEKKER acq_rel] before the fence
  if (ws_xchg_acq_rel(&pool->tasks.paused, WS_PAUSE_NEVER) == WS_PAUSE_YES)
    wake(pool);
}

/// Skip a task, or queue it again if it is a fiber's.
static bool purge(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  if (ws_skip_late(pool, here, task))
    return true;
  ws_push_again(pool, task);
  if (here.queue)
    ws_count_run(here.queue, 1);
  else
    ws_add_release(&pool->laneless_run, 1); // [edge POOL_IDLE release]
  return false;
}

/// @return tasks skipped in a place; as many as are there now at most: other threads may push meanwhile
static int64_t purge_place(struct ws_pool_s *pool, const ws_place_t *place)
{
  int64_t purged = 0;
  ws_task_t task;
  for (uint64_t left = ws_place_size(&pool->tasks, place); left > 0; left--) {
    if (!ws_place_take(&pool->tasks, place, &task))
      break;
    purged += purge(pool, ws_here_known(pool), &task); // known: what was called may have claimed a lane
  }
  return purged;
}

int64_t ws_pool_purge(ws_pool_t *pool)
{
  ws_not_observing("ws_pool_purge");
  if (!pool)
    return -EINVAL;
  if (ws_is_lost(pool))
    return -ESRCH;
  ws_here(pool); // claims a lane, if there is one
  int64_t purged = 0;
  for (ws_places_t all = ws_places(&pool->tasks); ws_places_next(&all);)
    purged += purge_place(pool, &all.at);
  return purged;
}
