// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rhythm.c
/// ws_rhythm.h.
#include "ws_rhythm.h"

#include <stddef.h>
#include <string.h>

#include "ws_prewake_state.h"

/// Times that a reader begins anew. One burst is published once.
#define READS_MAX 8u

_Static_assert(sizeof(ws_outlook_t) % sizeof(uint64_t) == 0, "an outlook is made of words");

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

/// What all workers plan with from now on.
static void look_out(ws_rhythm_t *rhythm, uint32_t permille, uint64_t now_ns)
{
  const ws_predict_t *model = &rhythm->model;
  ws_outlook_t *outlook = &rhythm->outlook;
  outlook->seen_ns = rhythm->seen_ns;
  outlook->burst = rhythm->burst;
  outlook->arrived = rhythm->arrived;
  outlook->locks = model->locks;
  outlook->gap_ns = ws_predict_gap_ns(model);
  outlook->period_ns = model->period_ns;
  outlook->phases = model->phases;
  for (uint32_t i = 0; i < model->phases; i++) {
    const ws_window_t *takers = &rhythm->takers[i];
    const bool known = takers->count >= WS_LEAD_SAMPLES_MIN;
    outlook->phase[i] = (ws_outlook_phase_t){
        .expected_ns = ws_predict_next(model, i, now_ns),
        .period_ns = ws_predict_period_ns(model, i),
        .occupancy = model->phase[i].occupancy,
        .takers = known ? 1 + (uint32_t)ws_window_quantile(takers, permille) : 0,
        .late = model->phase[i].late,
    };
  }
}

/// @return the words of an outlook that has @p phases phases
static size_t words_of(uint32_t phases)
{
  return (offsetof(ws_outlook_t, phase) + phases * sizeof(ws_outlook_phase_t)) / sizeof(uint64_t);
}

static void publish(ws_prewake_pool_t *its, uint32_t permille, uint64_t now_ns)
{
  const ws_outlook_t *outlook = &its->rhythm.outlook;
  look_out(&its->rhythm, permille, now_ns);
  const uint32_t sequence = ws_load_relaxed(&its->outlook_sequence); // relaxed: the lock's holder writes it
  ws_store_relaxed(&its->outlook_sequence, sequence + 1); // relaxed: the fence orders
  ws_fence_seq_cst(); // [edge OUTLOOK fence] odd before the words
  for (size_t i = 0; i < words_of(outlook->phases); i++) {
    uint64_t word;
    memcpy(&word, (const uint64_t *)(const void *)outlook + i, sizeof(word));
    ws_store_relaxed(&its->outlook[i], word); // relaxed: between two steps of the sequence
  }
  // [edge OUTLOOK release] the words before even
  ws_store_release(&its->outlook_sequence, sequence + 2);
}

/// Copy the words [first, end).
static void copy(const ws_prewake_pool_t *its, size_t first, size_t end, ws_outlook_t *outlook)
{
  for (size_t i = first; i < end; i++) {
    const uint64_t word = ws_load_relaxed(&its->outlook[i]); // relaxed: void if the sequence has changed
    memcpy((uint64_t *)(void *)outlook + i, &word, sizeof(word));
  }
}

bool ws_rhythm_read(const ws_prewake_pool_t *its, bool phases, ws_outlook_t *outlook)
{
  for (uint32_t read = 0; read < READS_MAX; read++) {
    const uint32_t before = ws_load_acquire(&its->outlook_sequence); // [edge OUTLOOK acquire] the words
    if (before == 0)
      return false;
    if (before % 2 == 0) {
      copy(its, 0, words_of(0), outlook);
      if (phases && outlook->phases <= WS_PHASES_MAX) // else the words are void
        copy(its, words_of(0), words_of(outlook->phases), outlook);
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
