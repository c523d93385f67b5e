// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_handed.c
/// sim_checks.h.
#include "sim_checks.h"

#include "../../../../pool/ws_process.h"
#include "../../../../pool/ws_types.h"
#include "../../../../sleep/ws_wake.h"
#include "../../../../tasks/ws_inbox.h"
#include "sim_libc.h"
#include "sim_scenario.h"

/// Looks in a row, 0.25 ms each.
#define FULL_LOOKS 2u

static bool has_bit(const ws_au64_t *mask, uint32_t worker)
{
  return (ws_load_relaxed(&mask[worker / 64]) >> (worker % 64)) & 1;
}

static bool waits_in_domain(const ws_pool_t *pool, uint32_t worker)
{
  for (uint32_t i = 0; i < pool->tasks.domains; i++)
    if (has_bit(pool->tasks.domain[i].mask, worker))
      return true;
  return false;
}

static bool holds(const ws_reserved_t *reserved, uint32_t worker)
{
  return reserved->word == worker / 64 && (reserved->bits >> (worker % 64)) % 2 == 1;
}

/// @return what the lane's owner has reserved that has the worker; NULL = none has
static const ws_reserved_t *reserved_with(const ws_pool_t *pool, uint32_t worker)
{
  for (uint32_t i = pool->workers; i < ws_load_relaxed(&pool->tasks.queues); i++)
    if (holds(&pool->tasks.queue[i]->outbox.reserved, worker))
      return &pool->tasks.queue[i]->outbox.reserved;
  return NULL;
}

/// A worker that sleeps or has ended may have an inbox that waits only if it has left it, and its filler can
/// see that.
static void check_left(const ws_pool_t *pool, uint32_t index, uint32_t worker)
{
  const ws_inbox_t *inbox = &pool->worker[worker]->inbox;
  const ws_reserved_t *reserved = reserved_with(pool, worker);
  if (ws_load_relaxed(&inbox->state) % WS_INBOX_STATES != WS_INBOX_WAITING)
    return;
  if (!ws_load_relaxed(&inbox->gone))
    sim_finding("left: worker %u of pool %u sleeps, and has not left its inbox", worker, index);
  if (reserved && reserved->left == ws_load_relaxed(&pool->tasks.left))
    sim_finding("left: worker %u of pool %u has left its inbox, and its filler cannot see that", worker,
                index);
}

/// The inbox of a worker that sleeps or has ended can be opened again, unless a lane has reserved the worker.
static void check_inbox(const ws_pool_t *pool, uint32_t index, uint32_t worker)
{
  const uint32_t state = (uint32_t)(ws_load_relaxed(&pool->worker[worker]->inbox.state) % WS_INBOX_STATES);
  if (state != WS_INBOX_AWAY && (state != WS_INBOX_WAITING || !reserved_with(pool, worker)))
    sim_finding("pool %u: the inbox of worker %u is in state %u for good", index, worker, state);
  if (has_bit(pool->tasks.waiting, worker) || waits_in_domain(pool, worker))
    sim_finding("pool %u: worker %u does not wait, and may be reserved", index, worker);
  check_left(pool, index, worker);
}

void sim_handed_check(const ws_pool_t *pool, uint32_t index)
{
  for (uint32_t i = 0; i < pool->workers; i++)
    check_inbox(pool, index, i);
  for (uint32_t i = 0; i < ws_load_relaxed(&pool->tasks.queues); i++)
    if (ws_load_relaxed(&pool->tasks.queue[i]->dispatched))
      sim_finding("pool %u: queue %u has a dispatcher for good", index, i);
}

void sim_handed_check_fill(const ws_pool_t *pool, const ws_reserved_t *reserved)
{
  const uint32_t worker = 64 * reserved->word + (uint32_t)__builtin_ctzll(reserved->bits);
  if (ws_is_parked(pool, worker) && reserved->left == ws_load_relaxed(&pool->tasks.left))
    sim_finding("left: worker %u sleeps, and who fills its inbox cannot see that it has left", worker);
}

/// A worker sleeps beside the task in its inbox. Where memory is sequentially consistent, either the worker
/// or who has filled the inbox sees that.
static void look_for_sleepers(const ws_pool_t *pool, uint32_t index, bool is_calm)
{
  static uint32_t looks[SIM_POOLS_MAX][SIM_WORKERS_MAX];
  for (uint32_t i = 0; i < pool->workers; i++) {
    const bool sleeps = ws_is_parked(pool, i) && ws_inbox_is(&pool->worker[i]->inbox, WS_INBOX_FULL);
    looks[index][i] = sleeps && is_calm ? looks[index][i] + 1 : 0;
    if (looks[index][i] >= FULL_LOOKS)
      sim_finding("left: worker %u of pool %u sleeps, and there is a task in its inbox", i, index);
  }
}

void sim_handed_look(const ws_pool_t *pool, uint32_t index, bool is_calm)
{
  for (uint32_t i = 0; i < pool->workers; i++)
    if (ws_is_parked(pool, i))
      check_left(pool, index, i);
  look_for_sleepers(pool, index, is_calm);
  for (uint32_t i = pool->workers; is_calm && i < ws_load_relaxed(&pool->tasks.queues); i++) {
    const ws_queue_t *lane = pool->tasks.queue[i];
    const int32_t tid = ws_tid_of(ws_load_relaxed(&lane->owner));
    if (tid <= 0 && lane->outbox.reserved.bits != 0)
      sim_finding("reserved: lane %u of pool %u is free, and has reserved workers", i - pool->workers, index);
    if (tid > 0 && lane->helping.pool == pool && lane->outbox.reserved.bits != 0
        && sim_thread[tid - 1]->state == SIM_ASLEEP)
      sim_finding("reserved: the thread of lane %u of pool %u sleeps in a wait, and has reserved workers",
                  i - pool->workers, index);
  }
}

bool sim_handed_is_none_searched(const ws_pool_t *pool)
{
  bool any = ws_load_relaxed(&ws_sleep_pool(pool)->searching[0].workers) != 0;
  for (uint32_t i = 1; i < pool->tasks.domains; i++)
    any |= ws_load_relaxed(&ws_sleep_pool(pool)->searching[i].workers) != 0;
  return !any;
}
