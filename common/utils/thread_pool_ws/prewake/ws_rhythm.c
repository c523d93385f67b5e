// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rhythm.c
/// The pattern that a pool has learnt from its bursts. One thread a burst learns, under a lock for which no
/// thread waits. All workers plan with a copy of what that thread has published, without a lock.
///
/// Publication  A sequence lock (Boehm, Can Seqlocks Get Along With Programming Language Memory Models?, MSPC
///              2012): the sequence is odd while words are written, and a reader that saw it change reads
///              again. The words of the copy are atomic.
#include "ws_prewake_state.h"

/// Times that a reader begins anew. One burst is published once.
#define READS_MAX 8u

_Static_assert(sizeof(ws_outlook_t) % sizeof(uint64_t) == 0, "an outlook is made of words");

/// @return the words of an outlook that has @p phases phases
static size_t words_of(uint32_t phases)
{
  return (offsetof(ws_outlook_t, phase) + phases * sizeof(ws_outlook_phase_t)) / sizeof(uint64_t);
}

/// Publish what all workers plan with from now on; under rhythm_lock. @param permille  quantile of the takers
/// of a phase
static void publish(ws_prewake_pool_t *shared, uint32_t permille)
{
  const ws_predict_t *model = &shared->rhythm.model;
  ws_outlook_t *outlook = &shared->rhythm.outlook;
  outlook->locks = model->locks;
  outlook->gap_ns = model->phases > 0 ? (uint64_t)(model->period_ns / model->phases) : 0;
  outlook->period_ns = model->period_ns;
  outlook->state = ws_predict_state(model);
  outlook->phases = model->phases;
  for (uint32_t i = 0; i < model->phases; i++) {
    const ws_window_t *takers = &shared->rhythm.takers[i];
    const bool known = takers->count >= WS_LEAD_SAMPLES_MIN;
    outlook->phase[i] = (ws_outlook_phase_t){
        .next_ns = ws_predict_next_ns(model, i),
        .period_ns = model->phase[i].period_ns,
        .occupancy = model->phase[i].occupancy,
        .takers = known ? 1 + (uint32_t)ws_window_quantile(takers, permille) : 0,
        .errors = model->phase[i].errors,
    };
  }
  const uint32_t sequence =
      ws_load_relaxed(&shared->outlook_sequence); // relaxed: the lock's holder writes it
  ws_store_relaxed(&shared->outlook_sequence, sequence + 1); // relaxed: the fence orders
  // [edge OUTLOOK fence] The odd sequence before the stores of the words. Without the fence a reader can
  // find the old sequence at both of its looks, and a new word in between.
  ws_fence_seq_cst();
  for (size_t i = 0; i < words_of(outlook->phases); i++) {
    uint64_t word;
    memcpy(&word, (const uint64_t *)(const void *)outlook + i, sizeof(word));
    ws_store_relaxed(&shared->outlook[i], word); // relaxed: between two steps of the sequence
  }
  // [edge OUTLOOK release] the words before even
  ws_store_release(&shared->outlook_sequence, sequence + 2);
}

/// Copy the words [first, end).
static void copy_words(const ws_prewake_pool_t *shared, size_t first, size_t end, ws_outlook_t *outlook)
{
  for (size_t i = first; i < end; i++) {
    const uint64_t word = ws_load_relaxed(&shared->outlook[i]); // relaxed: void if the sequence has changed
    memcpy((uint64_t *)(void *)outlook + i, &word, sizeof(word));
  }
}

void ws_rhythm_glance(const ws_prewake_pool_t *shared, ws_outlook_t *outlook)
{
  copy_words(shared, 0, words_of(0), outlook);
}

bool ws_rhythm_read(const ws_prewake_pool_t *shared, bool phases, ws_outlook_t *outlook)
{
  for (uint32_t read = 0; read < READS_MAX; read++) {
    const uint32_t before = ws_load_acquire(&shared->outlook_sequence); // [edge OUTLOOK acquire] the words
    if (before == 0)
      break;
    if (before % 2 == 0) {
      ws_rhythm_glance(shared, outlook);
      if (phases && outlook->phases <= WS_PHASES_MAX) // else the words are void
        copy_words(shared, words_of(0), words_of(outlook->phases), outlook);
      ws_fence_seq_cst_loads(); // [edge OUTLOOK fence] the words before the second look
      if (ws_load_relaxed(&shared->outlook_sequence) == before) // relaxed: after the fence
        return true;
    }
    ws_pause();
  }
  outlook->phases = 0; // words that changed meanwhile may be no pattern
  return false;
}

/// @return workers that the burst that came at @p at_ns, the last one or the one before, could have used:
///         those that took tasks of it, and one for each task that had to wait for a worker
static uint32_t takers_of(const struct ws_pool_s *pool, uint64_t at_ns)
{
  uint32_t takers = 0;
  for (uint32_t i = 0; i < pool->workers; i++) {
    const ws_taken_t *taken = pool->worker[i]->prewake->taken;
    for (uint32_t k = 0; k < 2; k++)
      takers += ws_stat_load(&taken[k].arrival_ns) == at_ns ? ws_stat_load(&taken[k].tasks) : 0;
  }
  return takers < pool->workers ? takers : pool->workers;
}

void ws_rhythm_update(struct ws_pool_s *pool, uint64_t now_ns)
{
  ws_prewake_pool_t *shared = pool->prewake;
  const uint64_t at_ns = ws_hint_load(&shared->arrival_ns);
  uint32_t unlocked = 0;
  // Another thread may have learnt it meanwhile: look again under the lock.
  if ((at_ns <= ws_hint_load(&shared->learnt_ns) && now_ns <= ws_hint_load(&shared->absent_ns))
      || ws_expected_load(&shared->rhythm_lock) != 0
      // [edge RHYTHM acquire] what the last holder learnt
      || !ws_cas_acq_rel(&shared->rhythm_lock, &unlocked, 1))
    return;
  ws_predict_t *model = &shared->rhythm.model;
  ws_outlook_t *outlook = &shared->rhythm.outlook;
  const uint64_t before_ns = outlook->seen_ns;
  const int32_t before = outlook->bursts > 0 ? outlook->arrived.phase : -1;
  const uint32_t locks = model->locks;
  const bool is_new = at_ns > before_ns;
  if (is_new) {
    outlook->seen_ns = at_ns;
    outlook->bursts++;
    outlook->arrived = ws_predict_arrival(model, at_ns);
    if (model->locks != locks) { // the phases are of another pattern now
      memset(shared->rhythm.takers, 0, sizeof(shared->rhythm.takers));
      outlook->arrived.phase = -1;
    }
    outlook->expected_bursts += outlook->arrived.phase >= 0;
    outlook->absent_bursts += outlook->arrived.absent;
    ws_stat_store(&shared->sleep_ns_min, ws_predict_gap_min_ns(model) / 4);
  }
  const uint32_t absent = ws_predict_expire(model, now_ns);
  outlook->absent_bursts += absent;
  if (is_new || absent > 0)
    publish(shared, ws_lead_permille(pool->settings.spin_price));
  ws_hint_store(&shared->learnt_ns, outlook->seen_ns);
  ws_hint_store(&shared->absent_ns, ws_predict_due_ns(model));
  const uint32_t lowered = ws_hint_load(&shared->lowered);
  if (lowered != 0 && now_ns >= ws_hint_load(&shared->clean_ns)) { // a time without trouble is over
    ws_hint_store(&shared->clean_ns, now_ns + ws_hint_load(&shared->span_ns));
    ws_hint_store(&shared->lowered, lowered - 1); // a fall may be overwritten: the next one lowers it
    ws_stat_add(&shared->level_changes, 1);
  }
  // Last: with many workers it takes microseconds, and other workers plan with what was published.
  if (is_new && before >= 0 && outlook->arrived.phase >= 0)
    ws_window_add(&shared->rhythm.takers[before], takers_of(pool, before_ns));
  ws_store_release(&shared->rhythm_lock, 0); // [edge RHYTHM release] what was learnt
}
