// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_age.c
/// ws_find.h.
#include "ws_find.h"

#include "../tasks/ws_kind.h"
#include "../tasks/ws_places.h"
#include "../trace/ws_traced.h"

/// After a look that finds no task too old, the next look comes after this part of the bound.
#define LOOKS_PER_BOUND 16u
/// Looks one after the other that each find a task too old.
#define LOOKS_AT_ONCE 16u

/// @return time since the pool began to note when tasks are pushed: earlier tasks count from then on
static uint64_t time_noted_ns(struct ws_pool_s *pool, uint64_t now_ns)
{
  const uint64_t since_ns = ws_hint_load(&pool->tasks.kinds_since_ns);
  return (int64_t)(now_ns - since_ns) > 0 ? now_ns - since_ns : 0;
}

/// A look at all places, in progress.
typedef struct {
  struct ws_pool_s *pool;
  uint64_t now_ns, most_ns;
  uint32_t places; ///< looked at
  uint64_t waited_ns; ///< longest time so far
  ws_place_t oldest; ///< where that is
} look_t;

static void look_at(look_t *look, const ws_place_t *place)
{
  const uint64_t waited = ws_place_waited_ns(&look->pool->tasks, place, look->now_ns);
  const uint64_t counted_ns = waited < look->most_ns ? waited : look->most_ns;
  look->places++;
  if (counted_ns <= look->waited_ns)
    return;
  look->waited_ns = counted_ns;
  look->oldest = *place;
}

static look_t look_at_all(struct ws_pool_s *pool, uint64_t now_ns)
{
  look_t look = {.pool = pool, .now_ns = now_ns, .waited_ns = pool->settings.age_ns_max};
  look.most_ns = time_noted_ns(pool, now_ns);
  for (ws_places_t all = ws_places(&pool->tasks); ws_places_next(&all);)
    look_at(&look, &all.at);
  return look;
}

/// @return what the trace calls the place
static int32_t victim_at(const ws_place_t *place)
{
  if (place->where == WS_AT_DEQUE)
    return place->deque == 1 ? WS_VICTIM_ASIDE : (int32_t)place->index;
  return place->where == WS_AT_SHARED ? WS_VICTIM_SHARED : WS_VICTIM_INBOX;
}

/// Another thread may have taken the task meanwhile: then the next of the same queue is taken.
static bool take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const ws_place_t *place = &here.queue->age_place;
  if (!ws_place_take(&pool->tasks, place, task))
    return false;
  ws_stat_add(&pool->aged, 1);
  const int32_t victim = victim_at(place);
  if (victim < 0 || pool->tasks.queue[victim] != here.queue) {
    ws_traced_steal(pool, here, victim);
    ws_count(&here.queue->count.stolen, 1);
  }
  return true;
}

/// The pool is late, and the caller has looked at all places not long ago.
static bool take_again(struct ws_pool_s *pool, ws_here_t here, uint64_t now_ns, ws_task_t *task)
{
  const uint64_t waited = ws_place_waited_ns(&pool->tasks, &here.queue->age_place, now_ns);
  const uint64_t most_ns = time_noted_ns(pool, now_ns);
  return (waited < most_ns ? waited : most_ns) > pool->settings.age_ns_max && take(pool, here, task);
}

/// @return whether the caller may look at all places
static bool may_look(const struct ws_pool_s *pool, ws_queue_t *own)
{
  own->age_pause -= own->age_pause > 0;
  return own->age_pause == 0 || own->age_looks < LOOKS_AT_ONCE
         || pool->settings.age_ns_max == 0; // the oldest first, at any cost
}

bool ws_age_take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t looked_ns = ws_hint_load(&pool->age_looked_ns); // two at once look twice
  if (now_ns - looked_ns < pool->settings.age_ns_max / LOOKS_PER_BOUND) {
    own->age_looks = 0; // the pool is not late
    return false;
  }
  if (!may_look(pool, own))
    return take_again(pool, here, now_ns, task);
  const look_t look = look_at_all(pool, now_ns);
  own->age_place = look.oldest;
  own->age_pause = look.places;
  own->age_looks += own->age_looks < LOOKS_AT_ONCE;
  if (look.oldest.where == WS_AT_NONE) {
    ws_hint_store(&pool->age_looked_ns, now_ns);
    ws_kind_rest(&pool->tasks, pool->settings.age_ns_max, now_ns);
  }
  return take(pool, here, task);
}
