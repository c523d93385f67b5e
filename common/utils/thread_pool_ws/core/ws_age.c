// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_age.c
/// ws_age.h.
#include "ws_age.h"

#include "../pool/ws_kind.h"
#include "../pool/ws_queue.h"
#include "../trace/ws_traced.h"

/// After a look that finds no task too old, the next look comes after this part of the bound.
#define LOOKS_PER_BOUND 16u

/// The oldest task that was seen.
typedef struct {
  enum { NONE, IN_QUEUE, OF_KIND, ASIDE, SHARED } where;
  uint32_t index; ///< of the queue, or of the worker
  ws_kind_t kind;
  uint64_t waited_ns;
} oldest_t;

/// @param most_ns  time since the pool began to note when tasks are pushed: earlier tasks count from then on
static void compare(oldest_t *oldest, oldest_t other, uint64_t most_ns)
{
  other.waited_ns = other.waited_ns < most_ns ? other.waited_ns : most_ns;
  if (other.waited_ns > oldest->waited_ns)
    *oldest = other;
}

static oldest_t find_oldest(struct ws_pool_s *pool, uint64_t now_ns)
{
  oldest_t oldest = {.waited_ns = pool->settings.age_ns_max};
  const uint64_t since_ns = ws_load_relaxed(&pool->kinds_since_ns); // relaxed: a preference
  const uint64_t most_ns = (int64_t)(now_ns - since_ns) > 0 ? now_ns - since_ns : 0;
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = 0; i < queues; i++) {
    const ws_queue_t *queue = pool->queue[i];
    compare(&oldest, (oldest_t){IN_QUEUE, i, WS_KIND_NONE, ws_queue_waited_ns(queue, now_ns)}, most_ns);
    for (ws_kind_t kind = 0; kind < pool->kinds; kind++)
      compare(&oldest, (oldest_t){OF_KIND, i, kind, ws_kind_waited_ns(queue, kind, now_ns)}, most_ns);
  }
  for (uint32_t i = 0; i < pool->workers; i++) {
    const uint64_t waited_ns = ws_aside_waited_ns(pool->worker[i], now_ns);
    compare(&oldest, (oldest_t){ASIDE, i, WS_KIND_NONE, waited_ns}, most_ns);
  }
  compare(&oldest, (oldest_t){SHARED, 0, WS_KIND_NONE, ws_shared_waited_ns(&pool->shared, now_ns)}, most_ns);
  return oldest;
}

/// Another thread may have taken the task meanwhile: then the next of the same queue is taken.
static bool take(struct ws_pool_s *pool, ws_here_t here, const oldest_t *oldest, ws_task_t *task)
{
  const bool in_queue = oldest->where == IN_QUEUE || oldest->where == OF_KIND;
  ws_queue_t *queue = in_queue ? pool->queue[oldest->index] : NULL;
  int32_t victim = (int32_t)oldest->index;
  bool taken = false;
  if (oldest->where == IN_QUEUE)
    taken = ws_queue_take_oldest(queue, task);
  else if (oldest->where == OF_KIND)
    taken = ws_kind_steal(pool, queue, oldest->kind, task);
  else if (oldest->where == ASIDE && (victim = WS_VICTIM_ASIDE))
    taken = ws_aside_steal(pool->worker[oldest->index], task);
  else if (oldest->where == SHARED && (victim = WS_VICTIM_SHARED))
    taken = ws_shared_take(&pool->shared, task);
  if (taken && queue != here.queue) {
    ws_traced_steal(pool, here, victim);
    ws_count(&here.queue->count.stolen, 1);
  }
  return taken;
}

bool ws_age_take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t looked_ns = ws_load_relaxed(&pool->age_looked_ns); // relaxed: two at once look twice
  if (now_ns - looked_ns < pool->settings.age_ns_max / LOOKS_PER_BOUND)
    return false;
  const oldest_t oldest = find_oldest(pool, now_ns);
  if (take(pool, here, &oldest, task)) {
    ws_add_relaxed(&pool->aged, 1); // relaxed: a statistic
    return true;
  }
  if (oldest.where == NONE)
    ws_store_relaxed(&pool->age_looked_ns, now_ns); // relaxed: as above
  return false;
}
