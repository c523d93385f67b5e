// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rhythm.c
/// ws_rhythm.h.
#include "ws_rhythm.h"

#include <string.h>

#include "ws_prewake_state.h"

/// Times that a reader begins anew. One burst is published once.
#define READS_MAX 8u

/// Words of what is published: a head, then each phase.
enum { SEEN, BURST, PHASE, LATE, LOCKS, GAP, PERIOD, PHASES, HEAD };
enum { EXPECTED, PHASE_PERIOD, OCCUPANCY, TAKERS, COUNT, SORTED };
#define PHASE_WORDS (SORTED + WS_WINDOW_SAMPLES / 2)
_Static_assert(HEAD + WS_PHASES_MAX * PHASE_WORDS <= WS_OUTLOOK_WORDS, "the outlook fits");

/// The lock of the pattern, for a thread that changes what is learnt. @return false = another thread has it
static bool try_lock(ws_prewake_pool_t *its)
{
  uint32_t unlocked = 0;
  return ws_expected_load(&its->rhythm_lock) == 0
         // [edge RHYTHM acquire] what the last holder learnt
         && ws_cas_acq_rel(&its->rhythm_lock, &unlocked, 1);
}

static void unlock(ws_prewake_pool_t *its)
{
  ws_store_release(&its->rhythm_lock, 0); // [edge RHYTHM release] what was learnt
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

static void put(ws_prewake_pool_t *its, uint32_t at, uint64_t word)
{
  ws_store_relaxed(&its->outlook[at], word); // relaxed: between two steps of the sequence
}

static uint64_t get(const ws_prewake_pool_t *its, uint32_t at)
{
  return ws_load_relaxed(&its->outlook[at]); // relaxed: void if the sequence has changed
}

static void put_phase(ws_prewake_pool_t *its, uint32_t permille, uint32_t index, uint64_t now_ns)
{
  const ws_rhythm_t *rhythm = &its->rhythm;
  const ws_phase_t *phase = &rhythm->model.phase[index];
  const ws_window_t *takers = &rhythm->takers[index];
  const uint32_t at = HEAD + index * PHASE_WORDS;
  const bool known = takers->count >= WS_LEAD_SAMPLES_MIN;
  put(its, at + EXPECTED, ws_predict_next(&rhythm->model, index, now_ns));
  put(its, at + PHASE_PERIOD, bits_of(ws_predict_period_ns(&rhythm->model, index)));
  put(its, at + OCCUPANCY, bits_of(phase->occupancy));
  put(its, at + TAKERS, known ? 1 + (uint64_t)ws_window_quantile(takers, permille) : 0);
  put(its, at + COUNT, phase->late.count);
  for (uint32_t i = 0; 2 * i < phase->late.count; i++) {
    uint64_t two;
    memcpy(&two, &phase->late.sorted[2 * i], sizeof(two));
    put(its, at + SORTED + i, two);
  }
}

static void publish(ws_prewake_pool_t *its, uint32_t permille, uint64_t now_ns)
{
  const ws_rhythm_t *rhythm = &its->rhythm;
  const uint32_t sequence = ws_load_relaxed(&its->outlook_sequence); // relaxed: the lock's holder writes it
  ws_store_relaxed(&its->outlook_sequence, sequence + 1); // relaxed: the fence orders
  ws_fence_seq_cst(); // [edge OUTLOOK fence] odd before the words
  put(its, SEEN, rhythm->seen_ns);
  put(its, BURST, rhythm->burst);
  put(its, PHASE, (uint64_t)(int64_t)rhythm->arrived.phase);
  put(its, LATE, (uint64_t)rhythm->arrived.late_ns);
  put(its, LOCKS, rhythm->model.locks);
  put(its, GAP, ws_predict_gap_ns(&rhythm->model));
  put(its, PERIOD, bits_of(rhythm->model.period_ns));
  put(its, PHASES, rhythm->model.phases);
  for (uint32_t i = 0; i < rhythm->model.phases; i++)
    put_phase(its, permille, i, now_ns);
  // [edge OUTLOOK release] the words before even
  ws_store_release(&its->outlook_sequence, sequence + 2);
}

static void get_phase(const ws_prewake_pool_t *its, uint32_t index, ws_outlook_phase_t *phase)
{
  const uint32_t at = HEAD + index * PHASE_WORDS;
  const uint32_t count = (uint32_t)get(its, at + COUNT);
  phase->expected_ns = get(its, at + EXPECTED);
  phase->period_ns = number_of(get(its, at + PHASE_PERIOD));
  phase->occupancy = number_of(get(its, at + OCCUPANCY));
  phase->takers = (uint32_t)get(its, at + TAKERS);
  phase->late.count = count < WS_WINDOW_SAMPLES ? count : WS_WINDOW_SAMPLES;
  for (uint32_t i = 0; 2 * i < phase->late.count; i++) {
    const uint64_t two = get(its, at + SORTED + i);
    memcpy(&phase->late.sorted[2 * i], &two, sizeof(two));
  }
}

static void get_head(const ws_prewake_pool_t *its, ws_outlook_t *outlook)
{
  const uint32_t phases = (uint32_t)get(its, PHASES);
  outlook->seen_ns = get(its, SEEN);
  outlook->burst = (uint32_t)get(its, BURST);
  outlook->arrived.phase = (int32_t)get(its, PHASE);
  outlook->arrived.late_ns = (int64_t)get(its, LATE);
  outlook->locks = (uint32_t)get(its, LOCKS);
  outlook->gap_ns = get(its, GAP);
  outlook->period_ns = number_of(get(its, PERIOD));
  outlook->phases = phases < WS_PHASES_MAX ? phases : WS_PHASES_MAX;
}

bool ws_rhythm_read(const ws_prewake_pool_t *its, bool phases, ws_outlook_t *outlook)
{
  for (uint32_t read = 0; read < READS_MAX; read++) {
    const uint32_t before = ws_load_acquire(&its->outlook_sequence); // [edge OUTLOOK acquire] the words
    if (before == 0)
      return false;
    if (before % 2 == 0) {
      get_head(its, outlook);
      for (uint32_t i = 0; phases && i < outlook->phases; i++)
        get_phase(its, i, &outlook->phase[i]);
      ws_fence_seq_cst_loads(); // [edge OUTLOOK fence] the words before the second look
      if (ws_load_relaxed(&its->outlook_sequence) == before) // relaxed: after the fence
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

/// @return workers that the burst that came at @p at_ns, the last one or the one before, could have used:
///         those that took tasks of it, and one for each task that had to wait for a worker
static uint32_t takers_of(const struct ws_pool_s *pool, uint64_t at_ns)
{
  uint32_t takers = 0;
  for (uint32_t i = 0; i < pool->workers; i++) {
    const ws_prewake_worker_t *its = pool->worker[i]->prewake;
    const ws_taken_t *taken =
        ws_stat_load(&its->taken.arrival_ns) == at_ns ? &its->taken : &its->taken_before;
    if (ws_stat_load(&taken->arrival_ns) == at_ns)
      takers += ws_stat_load(&taken->tasks);
  }
  return takers < pool->workers ? takers : pool->workers;
}

/// Pass the last burst to the predictor.
static void learn_arrival(ws_prewake_pool_t *its, uint64_t at_ns)
{
  ws_rhythm_t *rhythm = &its->rhythm;
  rhythm->seen_ns = at_ns;
  const uint32_t locks = rhythm->model.locks;
  rhythm->burst++;
  rhythm->arrived = ws_predict_arrival(&rhythm->model, at_ns);
  if (rhythm->model.locks != locks) { // the phases are of another pattern now
    memset(rhythm->takers, 0, sizeof(rhythm->takers));
    rhythm->arrived.phase = -1;
  }
  ws_stat_store(&its->sleep_ns_min, ws_predict_gap_min_ns(&rhythm->model) / 4);
  ws_count(&its->bursts, 1);
  ws_count(&its->expected_bursts, rhythm->arrived.phase >= 0);
}

/// For the statistics.
static void tell(ws_prewake_pool_t *its)
{
  const ws_predict_t *model = &its->rhythm.model;
  ws_stat_store(&its->period_ns, (uint64_t)model->period_ns);
  ws_stat_store(&its->period_bursts, model->phases);
  ws_stat_store(&its->state, ws_predict_state(model));
  ws_stat_store(&its->locks, model->locks);
}

/// The caller holds the lock.
static void learn(const struct ws_pool_s *pool, uint64_t at_ns, uint64_t now_ns)
{
  ws_prewake_pool_t *its = pool->prewake;
  ws_rhythm_t *rhythm = &its->rhythm;
  const bool is_new = at_ns > rhythm->seen_ns;
  const uint64_t before_ns = rhythm->seen_ns;
  const int32_t phase = rhythm->burst > 0 ? rhythm->arrived.phase : -1;
  if (is_new)
    learn_arrival(its, at_ns);
  const uint32_t missed = ws_predict_expire(&rhythm->model, now_ns);
  ws_count(&its->absent_bursts, missed);
  if (is_new || missed > 0)
    publish(its, ws_lead_permille(pool->settings.spin_price), now_ns);
  tell(its);
  ws_hint_store(&its->learnt_ns, rhythm->seen_ns);
  ws_hint_store(&its->absent_ns, ws_predict_due_ns(&rhythm->model));
  ws_level_rise(its, now_ns);
  // Last: in a wide pool it takes microseconds, and other workers plan with what was published.
  if (is_new && phase >= 0 && rhythm->arrived.phase >= 0)
    ws_window_add(&rhythm->takers[phase], takers_of(pool, before_ns));
}

void ws_rhythm_update(struct ws_pool_s *pool, uint64_t now_ns)
{
  ws_prewake_pool_t *its = pool->prewake;
  const uint64_t at_ns = ws_hint_load(&its->arrival_ns);
  // Both are looked at again under the lock.
  const bool arrived = at_ns > ws_hint_load(&its->learnt_ns), absent = now_ns > ws_hint_load(&its->absent_ns);
  if ((!arrived && !absent) || !try_lock(its))
    return;
  learn(pool, at_ns, now_ns);
  unlock(its);
}
