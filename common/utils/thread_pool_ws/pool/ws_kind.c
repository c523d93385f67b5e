// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_kind.c
/// ws_kind.h.
#include "ws_kind.h"

#include "ws_grouped.h"
#include "ws_nodes.h"

ws_kind_t ws_kind_of(const struct ws_pool_s *pool, const ws_task_t *task)
{
  if (task->priority == WS_PRIORITY_HIGH)
    return WS_KIND_HIGH;
  if (task->priority == WS_PRIORITY_LOW)
    return WS_KIND_LOW;
  const uint32_t node = ws_nodes_of_hint(&pool->nodes, task->node);
  return node == WS_NODE_NONE ? WS_KIND_NONE : WS_KIND_NODE + node;
}

static ws_priority_t priority_of(ws_kind_t kind)
{
  return kind == WS_KIND_HIGH ? WS_PRIORITY_HIGH : kind == WS_KIND_LOW ? WS_PRIORITY_LOW : WS_PRIORITY_NORMAL;
}

/// All waits of the owner began before these queues were made: all tasks in them are the waits'.
static void mark_all(const ws_queue_t *queue, uint32_t kinds)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    for (ws_kind_t kind = 0; kind < kinds; kind++)
      mark->kind_index[kind] = 1;
}

/// @return number of deques: for each kind one, and one for what a join has put aside
static uint32_t deques_of(const ws_kind_queues_t *queues)
{
  return queues ? 2 * queues->count : 0;
}

static ws_kind_queues_t *make(struct ws_pool_s *pool, ws_queue_t *queue)
{
  const uint64_t capacity = pool->settings.queue_capacity;
  const uint32_t deques = 2 * pool->kinds;
  const size_t head_bytes = sizeof(ws_kind_queues_t) + deques * sizeof(ws_deque_t);
  const size_t bytes = head_bytes + deques * capacity * sizeof(ws_cell_t);
  ws_kind_queues_t *queues = ws_os_map(bytes);
  if (!queues)
    return NULL;
  queues->count = pool->kinds;
  queues->bytes = bytes;
  ws_cell_t *cells = (ws_cell_t *)(queues->deque + deques);
  for (uint32_t i = 0; i < deques; i++)
    ws_deque_init(&queues->deque[i], cells + i * capacity, capacity);
  mark_all(queue, pool->kinds);
  ws_store_relaxed(&pool->kinds_made, 1); // relaxed: before the fence of the push [PARK_DEKKER]
  ws_store_release(&queue->kinds, queues); // [edge KIND_QUEUES release] their fields
  return queues;
}

bool ws_kind_reserve(struct ws_pool_s *pool, ws_queue_t *queue)
{
  return ws_kind_queues(queue) || make(pool, queue);
}

ws_deque_t *ws_kind_room(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, bool grow)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  if (!queues)
    queues = make(pool, queue);
  if (!queues)
    return NULL;
  ws_deque_t *deque = &queues->deque[kind];
  while (!ws_deque_has_room(deque, 1)) {
    if (!grow || !ws_deque_grow(deque))
      return NULL;
    ws_count(&queue->count.growths, 1);
  }
  return deque;
}

void ws_kind_use(struct ws_pool_s *pool, uint64_t now_ns)
{
  if (ws_load_relaxed(&pool->kinds_used)) // relaxed: after the caller's fence [KIND_USED]
    return;
  ws_store_relaxed(&pool->kinds_since_ns, now_ns); // relaxed: a preference
  ws_store_relaxed(&pool->kinds_used, 1); // relaxed: before the fence of the push [PARK_DEKKER]
}

/// Least time from the last push of a kind until searches rest.
#define REST_NS 10000000u

static bool is_any_queued(const struct ws_pool_s *pool)
{
  uint64_t queued = 0;
  for (ws_kind_t kind = 0; kind < pool->kinds; kind++)
    queued |= ws_load_relaxed(&pool->kinds_queued[kind]); // relaxed: a hint, or after the caller's fence
  return queued != 0;
}

void ws_kind_rest(struct ws_pool_s *pool, uint64_t now_ns)
{
  const uint64_t age_ns = pool->settings.age_ns_max, rest_ns = age_ns > REST_NS ? age_ns : REST_NS;
  const uint64_t pushed_ns = ws_load_relaxed(&pool->kinds_pushed_ns); // relaxed: a preference
  if ((int64_t)(now_ns - pushed_ns) < (int64_t)rest_ns || is_any_queued(pool))
    return;
  ws_store_relaxed(&pool->kinds_used, 0); // relaxed: before the fence
  ws_fence_seq_cst(); // [edge KIND_USED fence] kinds_used before the counts
  if (is_any_queued(pool))
    ws_store_relaxed(&pool->kinds_used, 1); // relaxed: a worker that parks looks at the queues
}

void ws_kind_push(struct ws_pool_s *pool, ws_deque_t *deque, ws_kind_t kind, const ws_task_t *task,
                  uint64_t now_ns)
{
  ws_add_relaxed(&pool->kinds_queued[kind], 1); // relaxed: a hint
  ws_fence_seq_cst_after_rmw(); // [edge KIND_USED fence] the count before kinds_used
  ws_store_relaxed(&pool->kinds_pushed_ns, now_ns); // relaxed: a preference
  ws_kind_use(pool, now_ns);
  ws_deque_stamp(deque, 0, now_ns);
  ws_deque_push(deque, task, 1);
}

void ws_kind_note_taken(struct ws_pool_s *pool, ws_kind_t kind, ws_task_t *task)
{
  task->priority = priority_of(kind);
  ws_sub_relaxed(&pool->kinds_queued[kind], 1); // relaxed: a hint
}

bool ws_kind_take_any(struct ws_pool_s *pool, ws_queue_t *queue, ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (uint32_t i = 0; i < deques_of(queues); i++)
    if (ws_deque_take(&queues->deque[i], task)) {
      ws_kind_note_taken(pool, i % queues->count, task);
      return true;
    }
  return false;
}

uint64_t ws_kind_sift(struct ws_pool_s *pool, ws_queue_t *queue,
                      bool (*takes)(const ws_task_t *task, void *arg), void *arg)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  uint64_t taken = 0;
  for (uint32_t i = 0; i < deques_of(queues); i++) {
    const uint64_t of_kind = ws_grouped_sift(&queues->deque[i], takes, arg);
    ws_sub_relaxed(&pool->kinds_queued[i % queues->count], of_kind); // relaxed: a hint
    taken += of_kind;
  }
  return taken;
}

bool ws_kind_shrink(ws_queue_t *queue)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  bool shrunk = false;
  for (uint32_t i = 0; i < deques_of(queues); i++)
    shrunk |= ws_deque_shrink(&queues->deque[i]);
  return shrunk;
}

static bool steal_oldest(ws_deque_t *deque, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  ws_steal_t result = WS_STEAL_EMPTY;
  if (ws_deque_size(deque) > 0)
    do
      result = ws_deque_steal(deque, &memo, task);
    while (result == WS_STEAL_LOST); // another thread got one: the pool as a whole moves
  return result == WS_STEAL_GOT;
}

/// Steal the older of the two oldest tasks of a kind, of which a join may have put one aside.
static bool steal_older(ws_kind_queues_t *queues, ws_kind_t kind, ws_task_t *task)
{
  ws_deque_t *deque = &queues->deque[kind], *aside = ws_kind_aside(queues, kind);
  if (WS_LIKELY(ws_deque_size(aside) == 0))
    return steal_oldest(deque, task);
  const uint64_t late_ns = INT64_MAX; // later than all pushes
  if (ws_deque_waited_ns(aside, late_ns) >= ws_deque_waited_ns(deque, late_ns))
    return steal_oldest(aside, task) || steal_oldest(deque, task);
  return steal_oldest(deque, task) || steal_oldest(aside, task);
}

static bool take_from(ws_queue_t *queue, bool own, ws_kind_t kind, ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  if (!queues)
    return false;
  return (own && queue->oldest == 0 && ws_deque_take(&queues->deque[kind], task))
         || steal_older(queues, kind, task);
}

bool ws_kind_take(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, ws_task_t *task, int32_t *victim)
{
  // relaxed: a hint; ws_park looks at the queues after a fence
  if (ws_load_relaxed(&pool->kinds_queued[kind]) == 0)
    return false;
  *victim = -1;
  bool found = take_from(here.queue, true, kind, task);
  // lanes first: they hold the bursts
  for (uint32_t i = ws_queue_count(pool); !found && i-- > 0; *victim = (int32_t)i)
    found = pool->queue[i] != here.queue && take_from(pool->queue[i], false, kind, task);
  if (found)
    ws_kind_note_taken(pool, kind, task);
  return found;
}

bool ws_kind_steal(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, ws_task_t *task)
{
  if (!take_from(queue, false, kind, task))
    return false;
  ws_kind_note_taken(pool, kind, task);
  return true;
}

bool ws_kind_steal_under(struct ws_pool_s *pool, ws_queue_t *queue, const ws_group_t *group, bool weak,
                         ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (uint32_t i = 0; i < deques_of(queues); i++)
    if (ws_grouped_steal_under(&queues->deque[i], &queue->root, group, weak, task)) {
      ws_kind_note_taken(pool, i % queues->count, task);
      return true;
    }
  return false;
}

bool ws_kind_holds_any(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (uint32_t i = 0; i < deques_of(queues); i++)
    if (ws_deque_size(&queues->deque[i]) > 0)
      return true;
  return false;
}

uint64_t ws_kind_waited_ns(const ws_queue_t *queue, ws_kind_t kind, uint64_t now_ns)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  const uint64_t waited_ns = queues ? ws_deque_waited_ns(&queues->deque[kind], now_ns) : 0;
  const uint64_t aside_ns = queues ? ws_deque_waited_ns(ws_kind_aside(queues, kind), now_ns) : 0;
  return waited_ns > aside_ns ? waited_ns : aside_ns;
}

uint64_t ws_kind_queued(struct ws_pool_s *pool)
{
  uint64_t queued = 0;
  for (uint32_t i = ws_queue_count(pool); i-- > 0;) {
    const ws_kind_queues_t *queues = ws_kind_queues(pool->queue[i]);
    for (uint32_t k = 0; k < deques_of(queues); k++)
      queued += ws_deque_size(&queues->deque[k]);
  }
  return queued;
}

bool ws_kind_trim(ws_queue_t *queue, bool now)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  bool due = false;
  for (uint32_t i = 0; i < deques_of(queues); i++)
    due |= ws_deque_has_loose(&queues->deque[i], now);
  return due;
}

uint64_t ws_kind_steps(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  uint64_t steps = 0;
  for (uint32_t i = 0; i < deques_of(queues); i++) {
    steps += ws_load_relaxed(&queues->deque[i].takes); // relaxed: compared with itself
    steps += ws_load_relaxed(&queues->deque[i].top); // relaxed: as takes
  }
  return steps;
}

uint64_t ws_kind_bytes(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  uint64_t bytes = queues ? queues->bytes : 0;
  for (uint32_t i = 0; i < deques_of(queues); i++)
    bytes += ws_load_relaxed(&queues->deque[i].grown_bytes); // relaxed: a statistic
  return bytes;
}

uint64_t ws_kind_high_water(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  uint64_t most = 0;
  for (uint32_t i = 0; i < deques_of(queues); i++) {
    const uint64_t tasks = ws_load_relaxed(&queues->deque[i].high_water); // relaxed: a statistic
    most = tasks > most ? tasks : most;
  }
  return most;
}

void ws_kind_free(ws_queue_t *queue)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  if (!queues)
    return;
  for (uint32_t i = 0; i < deques_of(queues); i++)
    ws_deque_free(&queues->deque[i]);
  ws_os_unmap(queues, queues->bytes);
}
