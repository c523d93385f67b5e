// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wake.c
/// ws_wake.h: who searches; then one wake: decide, pick, claim, call.
#include "ws_wake.h"

#include "../classes/ws_classes.h"
#include "../pool/ws_near.h"
#include "../pool/ws_process.h"
#include "../prewake/ws_prewake.h"
#include "../tasks/ws_queue.h"
#include "../trace/ws_traced.h"
#include "../wide/ws_wide.h"
#include "ws_affinity.h"
#include "ws_budget.h"
#include "ws_cap.h"

// Searching workers. The thread that changes RELIED in a worker's state changes the count of its domain, so a
// worker is taken off once: by itself or by the guard.

/// Count the worker, which begins to search or was claimed, and set its state.
/// @param called  WS_STATE_CALLED, or 0
static void count(ws_worker_t *worker, uint32_t called)
{
  ws_au32_t *state = &ws_sleep_worker(worker)->state;
  const uint32_t domain = WS_LIKELY(worker->pool->tasks.domains == 0) ? 0 : ws_wide_domain(worker);
  const uint32_t next = WS_STATE_SEARCHES + called + WS_STATE_DOMAIN * domain;
  ws_add_acq_rel(&ws_sleep_pool(worker->pool)->searching[domain].workers, 1); // [edge SEARCHING acq_rel]
  WS_CHANGES(ws_state_changes, ws_assert_load(state) % WS_STATE_DOMAIN, next % WS_STATE_DOMAIN);
  ws_store_release(state, next); // [edge SEARCHING release] counted before it can be taken off
}

void ws_search_begin(ws_worker_t *worker)
{
  const uint32_t state = ws_expected_load(&ws_sleep_worker(worker)->state);
  if (WS_LIKELY(state & WS_STATE_RELIED))
    return;
  if (state % WS_STATES == WS_STATE_SEARCHING) // the guard has taken it off, and it has a CPU again
    ws_search_leave(worker, WS_STATE_RUNNING);
  count(worker, state & WS_STATE_CALLED);
}

/// A worker that searched is taken off. @return the workers of its domain counted before
static uint32_t subtract(ws_sleep_pool_t *shared, uint32_t state)
{
  return ws_sub_acq_rel(&shared->searching[state / WS_STATE_DOMAIN].workers, 1); // [edge SEARCHING acq_rel]
}

uint32_t ws_search_leave(ws_worker_t *worker, uint32_t next)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(worker->pool);
  const uint32_t state = ws_xchg_acq_rel(&ws_sleep_worker(worker)->state, next); // [edge SEARCHING acq_rel]
  WS_CHANGES(ws_state_changes, state % WS_STATE_DOMAIN, next);
  if (WS_LIKELY(state & WS_STATE_RELIED))
    return subtract(shared, state);
  if (state % WS_STATES == WS_STATE_SEARCHING) // it had no CPU
    ws_sub_acq_rel(&shared->starved, 1); // [edge SEARCHING acq_rel]
  return 0;
}

bool ws_search_starved(ws_worker_t *worker)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(worker->pool);
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  uint32_t relied = ws_expected_load(&sleep->state);
  if (!(relied & WS_STATE_RELIED))
    return false;
  ws_add_acq_rel(&shared->starved, 1); // [edge SEARCHING acq_rel] first, so that it is never below zero
  WS_CHANGES(ws_state_changes, relied % WS_STATE_DOMAIN, relied % WS_STATE_DOMAIN - WS_STATE_RELIED);
  if (!ws_cas_acq_rel(&sleep->state, &relied, relied - WS_STATE_RELIED)) { // [edge SEARCHING acq_rel]
    ws_sub_acq_rel(&shared->starved, 1); // [edge SEARCHING acq_rel]
    return false;
  }
  subtract(shared, relied);
  ws_count(&shared->count.starved_searches, 1);
  return true;
}

// To wake.

bool ws_claim(struct ws_pool_s *pool, uint32_t worker, bool calls)
{
  const uint64_t bit = UINT64_C(1) << (worker % 64);
  // [edge PARK_CLAIM acq_rel] one claimer a sleep
  if (!(ws_and_acq_rel(&ws_sleep_pool(pool)->sleepers[worker / 64], ~bit) & bit))
    return false;
  ws_hint_add(&ws_process.awake, 1);
  count(pool->worker[worker], calls ? WS_STATE_CALLED : 0);
  return true;
}

bool ws_is_parked(const struct ws_pool_s *pool, uint32_t worker)
{
  return (ws_hint_load(&ws_sleep_pool(pool)->sleepers[worker / 64]) >> (worker % 64)) & 1;
}

/// Give a claimed worker its token.
static void give_token(ws_worker_t *worker)
{
  ws_au32_t *token = &ws_sleep_worker(worker)->token;
  ws_store_release(token, 1); // [edge PARK_TOKEN release] what the claimer did before
  ws_os_futex_wake(token, 1);
}

/// What a wake found.
enum { NONE = UINT32_MAX, SPARED = UINT32_MAX - 1 };

/// Which worker to wake. Best is one that does not stop the producer, is not on the caller's CPU,
/// is near, and has a timer set. Of several the lowest, so that the same few workers stay warm.
/// @param cpu  CPU + 1 of the caller. @param spares  leave out those that would stop the producer
/// @return its index; NONE; SPARED = there are only workers that would stop the producer
static uint32_t pick(struct ws_pool_s *pool, uint32_t cpu, ws_kind_t kind, bool spares)
{
  const bool armed = ws_prewake_armed(pool) > 0;
  uint32_t best = NONE, most = 0;
  for (uint32_t word = 0; word < pool->tasks.mask_words; word++) {
    uint64_t mask = ws_load_relaxed(&ws_sleep_pool(pool)->sleepers[word]); // relaxed: ws_claim decides
    for (; mask; mask &= mask - 1) {
      const uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(mask);
      const ws_worker_t *worker = pool->worker[index];
      const bool stops = ws_near_stops_producer(worker);
      if (spares && stops) {
        best = most == 0 ? SPARED : best;
        continue;
      }
      const bool elsewhere = ws_hint_load(&worker->seen_cpu) != cpu;
      const bool rises = armed && ws_hint_load(&ws_sleep_worker(worker)->alarm_ns) != 0;
      // to the task's data, or to the thread outside that pushed last
      const bool near =
          kind == WS_KIND_NORMAL ? ws_near_is(pool, worker) : ws_classes_is_near(pool, worker, kind);
      const uint32_t merit = 1 + 8 * !stops + 4 * elsewhere + 2 * near + rises;
      if (merit > most) {
        most = merit;
        best = index;
      }
      if (merit == (armed ? 16u : 15u))
        return index;
    }
  }
  return best;
}

/// Wake a claimed worker, and measure how long the call takes the caller: call_ns.
/// @param cpu  CPU + 1 of the caller; 0 = not known, or the guard: it has no work that would have to wait
/// @return its index
static uint32_t call(struct ws_pool_s *pool, ws_here_t here, uint32_t index, uint32_t cpu)
{
  ws_worker_t *worker = pool->worker[index];
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  ws_au64_t *call_ns = &ws_sleep_pool(pool)->call_ns;
  ws_traced_wake(worker, here.worker);
  const uint64_t called_ns = ws_os_now_ns();
  ws_affinity_call(worker, here, cpu);
  sleep->called_cpu = cpu;
  const uint64_t alarm_ns = ws_load_relaxed(&sleep->alarm_ns); // relaxed: the caller owns the claim
  const bool was_rising = alarm_ns != 0 && alarm_ns <= called_ns;
  sleep->called_ns = called_ns;
  give_token(worker);
  if (here.queue)
    ws_count(&here.queue->count.wakes_sent, 1);
  else if (cpu != 0)
    ws_stat_add(&ws_sleep_pool(pool)->count.laneless_wakes, 1);
  if (was_rising)
    return index; // its timer has woken it: such a call is cheap
  const uint64_t cost_ns = ws_os_now_ns() - called_ns, mean_ns = ws_stat_load(call_ns);
  const uint64_t newest_ns = mean_ns && cost_ns > 8 * mean_ns ? mean_ns : cost_ns; // interrupted
  ws_stat_store(call_ns, mean_ns ? mean_ns - mean_ns / 16 + newest_ns / 16 : newest_ns);
  return index;
}

/// Pick, claim and wake one worker. @return the worker that was woken; NONE; SPARED
static uint32_t wake_one(struct ws_pool_s *pool, ws_here_t here, ws_trigger_t why, ws_kind_t kind,
                         bool spares)
{
  const uint32_t cpu = (uint32_t)(ws_os_cpu() + 1);
  ws_affinity_note_caller(pool, here, cpu);
  for (;;) {
    const uint32_t picked = pick(pool, cpu, kind, spares);
    if (picked == SPARED)
      ws_stat_add(&ws_sleep_pool(pool)->count.spared_wakes, 1);
    if (picked >= SPARED)
      return picked;
    if (ws_claim(pool, picked, true))
      return call(pool, here, picked, why == WS_TRIGGER_STUCK ? 0 : cpu);
  }
}

ws_decision_t ws_ask(struct ws_pool_s *pool, ws_here_t here, const ws_snapshot_t *snapshot)
{
  const ws_decision_t decision = ws_decide(snapshot);
  WS_PROBE(decide, pool, ws_traced_pool(pool), ws_traced_worker(here.worker), ws_decided_name(decision.why),
           decision.wakes);
  if (here.queue)
    ws_count(&here.queue->count.decided[decision.why], 1);
  else
    ws_stat_add(&ws_sleep_pool(pool)->count.decided[decision.why], 1);
  return decision;
}

/// Make the guard STANDING if it is DORMANT, also while a worker searches: ws_guard.c has the reasons.
static void call_guard(struct ws_pool_s *pool)
{
  ws_au32_t *guard = &ws_sleep_pool(pool)->guard;
  if (ws_guard_change(guard, WS_GUARD_DORMANT, WS_GUARD_STANDING))
    ws_os_futex_wake(guard, 1);
}

/// Call after a fence that follows the publication of the work. @return whether the guard is DORMANT
static bool is_guard_dormant(const struct ws_pool_s *pool)
{
  // relaxed: after the caller's fence [GUARD_DEKKER]
  return WS_UNLIKELY(ws_load_relaxed(&ws_sleep_pool(pool)->guard) == WS_GUARD_DORMANT);
}

uint32_t ws_wake(struct ws_pool_s *pool, ws_here_t here, const ws_snapshot_t *snapshot, ws_kind_t kind)
{
  const ws_decision_t decision = ws_ask(pool, here, snapshot);
  // a worker pinned to the CPU of a producer that runs: the guard wakes it later
  const bool spares = ws_sleep_pool(pool)->spares && ws_outside(pool) > 0 && !snapshot->may_stop;
  uint32_t woken = 0, last = 0;
  for (; woken < decision.wakes; woken++)
    if ((last = wake_one(pool, here, snapshot->trigger, kind, spares)) >= SPARED)
      break;
  // a pool of one worker needs a guard in this case only
  if (WS_UNLIKELY(last == SPARED) && snapshot->trigger != WS_TRIGGER_HINT && is_guard_dormant(pool))
    call_guard(pool);
  return woken;
}

void ws_wake_all(struct ws_pool_s *pool)
{
  ws_ask(pool, (ws_here_t){0}, &(ws_snapshot_t){.trigger = WS_TRIGGER_ALL});
  for (uint32_t i = 0; i < pool->workers; i++) { // each once: one that finds no CPU sleeps again
    if (!ws_claim(pool, i, true))
      continue;
    ws_traced_wake(pool->worker[i], NULL);
    give_token(pool->worker[i]);
  }
}

void ws_need_guard(struct ws_pool_s *pool)
{
  if (is_guard_dormant(pool) && ws_sleep_pool(pool)->guarded)
    call_guard(pool);
}

void ws_give_back(struct ws_pool_s *pool, ws_queue_t *queue)
{
  const ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  ws_queue_shrink(&pool->tasks, queue);
  // [edge TRIM_DUE acquire] No fence: all change it by an exchange. So either the thread that has set it sees
  // the guard dormant, and the caller with it, or the guard's trim comes later and sees it set
  if (WS_LIKELY(!ws_load_acquire(&pool->tasks.loose)))
    return;
  if (shared->has_guard)
    call_guard(pool);
  else
    ws_queues_trim(&pool->tasks);
}

// The events. A snapshot is built only where a wake is possible: a push while no worker sleeps, or while
// enough of them search, costs nothing of this.

ws_snapshot_t ws_snapshot(const struct ws_pool_s *pool, ws_trigger_t trigger)
{
  const ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const uint32_t working = ws_working(pool), searching = ws_searching(pool);
  const uint32_t calls = ws_hint_load(&shared->calls_a_wake);
  // a thread that pushes will run tasks, too
  const uint64_t at_work = (working > searching ? working - searching : 0) + (trigger == WS_TRIGGER_TASK);
  return (ws_snapshot_t){.trigger = trigger,
                         .working = working,
                         .limit = ws_awake_limit(pool),
                         .searching = searching,
                         .calls_a_wake = calls > 1 ? calls : 1,
                         .taken = searching + at_work * ws_hint_load(&shared->tasks_a_wake) / WS_WAKE_PARTS};
}

/// Tasks were pushed while workers search. If they are of a burst of a thread outside, one more worker may be
/// worth a call: for its tasks but one, which the caller will run itself. @return whether one was called
static bool call_ahead(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind)
{
  const uint64_t size = here.queue && !here.worker ? ws_deque_size(&here.queue->deque) : 0;
  if (size <= 2 || size <= 1 + ws_searching(pool)) // ws_decide() would wake none: saves the snapshot
    return false;
  ws_snapshot_t snapshot = ws_snapshot(pool, WS_TRIGGER_TASK);
  snapshot.queued = size - 1;
  snapshot.may_spin =
      snapshot.queued > snapshot.taken && ws_may_spin(pool, 1); // its line travels: only if needed
  return ws_wake(pool, here, &snapshot, kind) > 0;
}

void ws_post(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind)
{
  bool more = ws_is_searched(pool); // saves the snapshot, while a worker searches
  if (!more) {
    // searching is left 0: a worker that began to search since may have looked before the task came
    const ws_snapshot_t snapshot = {
        .trigger = WS_TRIGGER_TASK, .working = ws_working(pool), .limit = ws_awake_limit(pool), .queued = 1};
    more = ws_wake(pool, here, &snapshot, kind) > 0;
  }
  while (more) // several for a batch
    more = call_ahead(pool, here, kind);
  ws_need_guard(pool);
}

void ws_fill_slot(struct ws_pool_s *pool, ws_here_t here)
{
  // [edge PARK_DEKKER fence] The free slot, or the store of the moved tasks, before the loads of sleepers and
  // queues. Without the fence the look can miss a task whose push found no slot, and woke no worker.
  ws_fence_seq_cst();
  if (ws_has_sleepers(pool) && ws_work_visible(&pool->tasks))
    ws_post(pool, here, WS_KIND_NORMAL);
}

void ws_search_found(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const ws_here_t here = {.queue = &worker->queue, .worker = worker};
  // No other thread changes that now.
  const bool called = ws_hint_load(&ws_sleep_worker(worker)->state) & WS_STATE_CALLED;
  // A worker that was not counted any more need not look: the guard has looked in its place.
  const bool last = ws_search_leave(worker, WS_STATE_RUNNING) == 1;
  if (!called && !last) // saves the fence
    return;
  // [edge PARK_DEKKER fence] The end of the search before the loads of searching, sleepers and queues.
  // Without the fence the look can miss a task whose push still relied on this worker, and woke no other
  // one.
  ws_fence_seq_cst();
  if (!called && ws_is_searched(pool)) // the last of its domain only: another will look
    return;
  for (uint32_t woken = 0; ws_has_sleepers(pool); woken++) { // without a sleeper: saves the snapshot
    ws_snapshot_t snapshot = ws_snapshot(pool, WS_TRIGGER_FOUND);
    snapshot.called = called;
    snapshot.woken = woken;
    snapshot.queued = snapshot.searching > 0 ? ws_queued(&pool->tasks) : ws_work_visible(&pool->tasks);
    if (ws_wake(pool, here, &snapshot, WS_KIND_NORMAL) == 0)
      return;
  }
}
