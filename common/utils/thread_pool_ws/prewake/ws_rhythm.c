// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rhythm.c
/// ws_rhythm.h.
#include "ws_rhythm.h"

#include <string.h>

#include "../sleep/ws_watch.h"
#include "ws_level.h"

/// Times that a reader begins anew. One burst is published once.
#define READS_MAX 8u

/// Words of what is published: a head, then each phase.
enum { SEEN, BURST, PHASE, LATE, LOCKS, GAP, PERIOD, PHASES, HEAD };
enum { EXPECTED, PHASE_PERIOD, OCCUPANCY, TAKERS, COUNT, SORTED };
#define PHASE_WORDS (SORTED + WS_WINDOW_SAMPLES / 2)
_Static_assert(HEAD + WS_PHASES_MAX * PHASE_WORDS <= WS_OUTLOOK_WORDS, "the outlook fits");

bool ws_rhythm_enter(struct ws_pool_s *pool)
{
  uint32_t nobody = 0;
  return ws_load_relaxed(&pool->rhythm_lock) == 0 // relaxed: the CAS decides
         // [edge RHYTHM acquire] what the last holder learnt
         && ws_cas_acq_rel(&pool->rhythm_lock, &nobody, 1);
}

void ws_rhythm_leave(struct ws_pool_s *pool)
{
  ws_store_release(&pool->rhythm_lock, 0); // [edge RHYTHM release] what was learnt
}

static uint64_t bits_of(double number)
{
  uint64_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}

static double number_of(uint64_t bits)
{
  double number;
  memcpy(&number, &bits, sizeof(number));
  return number;
}

static void put(struct ws_pool_s *pool, uint32_t at, uint64_t word)
{
  ws_store_relaxed(&pool->outlook[at], word); // relaxed: between two steps of the sequence
}

static uint64_t get(const struct ws_pool_s *pool, uint32_t at)
{
  return ws_load_relaxed(&pool->outlook[at]); // relaxed: void if the sequence has changed
}

static void put_phase(struct ws_pool_s *pool, uint32_t index, uint64_t now_ns)
{
  const ws_rhythm_t *rhythm = &pool->rhythm;
  const ws_phase_t *phase = &rhythm->model.phase[index];
  const ws_window_t *takers = &rhythm->takers[index];
  const uint32_t permille = ws_lead_permille(pool->settings.spin_price), at = HEAD + index * PHASE_WORDS;
  const bool known = takers->count >= WS_LEAD_SAMPLES_MIN;
  put(pool, at + EXPECTED, ws_predict_next(&rhythm->model, index, now_ns));
  put(pool, at + PHASE_PERIOD, bits_of(ws_predict_period_ns(&rhythm->model, index)));
  put(pool, at + OCCUPANCY, bits_of(phase->occupancy));
  put(pool, at + TAKERS, known ? 1 + (uint64_t)ws_window_quantile(takers, permille) : 0);
  put(pool, at + COUNT, phase->late.count);
  for (uint32_t i = 0; 2 * i < phase->late.count; i++) {
    uint64_t two;
    memcpy(&two, &phase->late.sorted[2 * i], sizeof(two));
    put(pool, at + SORTED + i, two);
  }
}

static void publish(struct ws_pool_s *pool, uint64_t now_ns)
{
  const ws_rhythm_t *rhythm = &pool->rhythm;
  const uint32_t sequence = ws_load_relaxed(&pool->outlook_sequence); // relaxed: who has the rhythm writes it
  ws_store_relaxed(&pool->outlook_sequence, sequence + 1); // relaxed: the fence orders
  ws_fence_seq_cst(); // [edge OUTLOOK fence] odd before the words
  put(pool, SEEN, rhythm->seen_ns);
  put(pool, BURST, rhythm->burst);
  put(pool, PHASE, (uint64_t)(int64_t)rhythm->arrived.phase);
  put(pool, LATE, (uint64_t)rhythm->arrived.late_ns);
  put(pool, LOCKS, rhythm->model.locks);
  put(pool, GAP, ws_predict_gap_ns(&rhythm->model));
  put(pool, PERIOD, bits_of(rhythm->model.period_ns));
  put(pool, PHASES, rhythm->model.phases);
  for (uint32_t i = 0; i < rhythm->model.phases; i++)
    put_phase(pool, i, now_ns);
  // [edge OUTLOOK release] the words before even
  ws_store_release(&pool->outlook_sequence, sequence + 2);
}

static void get_phase(const struct ws_pool_s *pool, uint32_t index, ws_outlook_phase_t *phase)
{
  const uint32_t at = HEAD + index * PHASE_WORDS;
  const uint32_t count = (uint32_t)get(pool, at + COUNT);
  phase->expected_ns = get(pool, at + EXPECTED);
  phase->period_ns = number_of(get(pool, at + PHASE_PERIOD));
  phase->occupancy = number_of(get(pool, at + OCCUPANCY));
  phase->takers = (uint32_t)get(pool, at + TAKERS);
  phase->late.count = count < WS_WINDOW_SAMPLES ? count : WS_WINDOW_SAMPLES;
  for (uint32_t i = 0; 2 * i < phase->late.count; i++) {
    const uint64_t two = get(pool, at + SORTED + i);
    memcpy(&phase->late.sorted[2 * i], &two, sizeof(two));
  }
}

static void get_head(const struct ws_pool_s *pool, ws_outlook_t *outlook)
{
  const uint32_t phases = (uint32_t)get(pool, PHASES);
  outlook->seen_ns = get(pool, SEEN);
  outlook->burst = (uint32_t)get(pool, BURST);
  outlook->arrived.phase = (int32_t)get(pool, PHASE);
  outlook->arrived.late_ns = (int64_t)get(pool, LATE);
  outlook->locks = (uint32_t)get(pool, LOCKS);
  outlook->gap_ns = get(pool, GAP);
  outlook->period_ns = number_of(get(pool, PERIOD));
  outlook->phases = phases < WS_PHASES_MAX ? phases : WS_PHASES_MAX;
}

bool ws_rhythm_read(const struct ws_pool_s *pool, bool phases, ws_outlook_t *outlook)
{
  for (uint32_t read = 0; read < READS_MAX; read++) {
    const uint32_t before = ws_load_acquire(&pool->outlook_sequence); // [edge OUTLOOK acquire] the words
    if (before == 0)
      return false;
    if (before % 2 == 0) {
      get_head(pool, outlook);
      for (uint32_t i = 0; phases && i < outlook->phases; i++)
        get_phase(pool, i, &outlook->phase[i]);
      ws_fence_seq_cst_loads(); // [edge OUTLOOK fence] the words before the second look
      if (ws_load_relaxed(&pool->outlook_sequence) == before) // relaxed: after the fence
        return true;
    }
    ws_pause();
  }
  return false;
}

uint64_t ws_rhythm_next(const ws_outlook_t *outlook, uint32_t phase, uint64_t now_ns)
{
  const ws_outlook_phase_t *it = &outlook->phase[phase];
  if (it->expected_ns > now_ns || it->period_ns <= 0)
    return it->expected_ns;
  const uint64_t periods = (uint64_t)((double)(now_ns - it->expected_ns) / it->period_ns) + 1;
  return it->expected_ns + (uint64_t)((double)periods * it->period_ns);
}

/// Tell the predictor of the last burst.
static void hear(struct ws_pool_s *pool, uint64_t at_ns)
{
  ws_rhythm_t *rhythm = &pool->rhythm;
  rhythm->seen_ns = at_ns;
  if (rhythm->arrived.phase >= 0 && rhythm->burst > 0)
    // relaxed: a statistic
    ws_window_add(&rhythm->takers[rhythm->arrived.phase], ws_load_relaxed(&pool->takers_before));
  const uint32_t locks = rhythm->model.locks;
  rhythm->burst++;
  rhythm->arrived = ws_predict_arrival(&rhythm->model, at_ns);
  if (rhythm->model.locks != locks) { // the phases are others now
    memset(rhythm->takers, 0, sizeof(rhythm->takers));
    rhythm->arrived.phase = -1;
  }
  ws_store_relaxed(&pool->period_ns, (uint64_t)rhythm->model.period_ns); // relaxed: a statistic
  ws_store_relaxed(&pool->period_bursts, rhythm->model.phases); // relaxed: a statistic
  ws_store_relaxed(&pool->sleep_ns_min, ws_predict_gap_min_ns(&rhythm->model) / 4); // relaxed: a statistic
  ws_count(&pool->bursts, 1);
  ws_count(&pool->expected_bursts, rhythm->arrived.phase >= 0);
}

/// For who has the rhythm.
static void learn(struct ws_pool_s *pool, uint64_t at_ns, uint64_t now_ns)
{
  ws_rhythm_t *rhythm = &pool->rhythm;
  const bool is_new = at_ns > rhythm->seen_ns;
  if (is_new)
    hear(pool, at_ns);
  const uint32_t missed = ws_predict_expire(&rhythm->model, now_ns);
  ws_count(&pool->absent_bursts, missed);
  if (is_new || missed > 0)
    publish(pool, now_ns);
  ws_store_relaxed(&pool->heard_ns, rhythm->seen_ns); // relaxed: saves a look
  ws_store_relaxed(&pool->absent_ns, ws_predict_due_ns(&rhythm->model)); // relaxed: saves a look
  ws_level_rise(pool, now_ns);
}

void ws_rhythm_hear(struct ws_pool_s *pool, uint64_t now_ns)
{
  const uint64_t at_ns = ws_load_relaxed(&pool->arrival_ns); // relaxed: a time
  const bool arrived = at_ns > ws_load_relaxed(&pool->heard_ns); // relaxed: looked at again under the lock
  const bool absent = now_ns > ws_load_relaxed(&pool->absent_ns); // relaxed: as arrived
  if ((!arrived && !absent) || !ws_rhythm_enter(pool))
    return;
  learn(pool, at_ns, now_ns);
  const bool due = ws_watch_is_due(pool, now_ns);
  ws_rhythm_leave(pool);
  if (due)
    ws_watch_ask(pool);
}
