// SPDX-License-Identifier: BSD-3-Clause
/// @file test_inbox_steps.c
/// A thread is stopped before each single atomic step of a fill, a shut or a take; another thread acts there:
/// all such interleavings, one after the other, on one thread. The claimer's stores to the state may stay in
/// a buffer until a fence that is not light, or until the claimer's call is over. In each interleaving the
/// task is begun once, and the inbox can be used again.
#include <stdio.h>
#include <string.h>

#include "../../../tasks/ws_group_word.h"
#include "../../../tasks/ws_inbox.h"
#include "../../../tasks/ws_places.h"
#include "../../support/ws_test.h"

static void step(void);
static void store_state(ws_au64_t *state, uint64_t word);
static uint64_t load_state(const ws_au64_t *word);
static void fence(void);
#undef ws_load_relaxed
#undef ws_load_acquire
#undef ws_store_relaxed
#undef ws_store_release
#undef ws_add_acq_rel
#undef ws_and_acq_rel
#undef ws_or_acq_rel
#undef ws_cas_acq_rel
#undef ws_expected_load
#undef ws_pause
#define ws_load_relaxed(a) (step(), __atomic_load_n(&(a)->v, __ATOMIC_RELAXED))
#define ws_load_acquire(a) (step(), load_state(a))
#define ws_expected_load(a) (step(), load_state(a))
#define ws_store_relaxed(a, x) (step(), __atomic_store_n(&(a)->v, (x), __ATOMIC_RELAXED))
#define ws_store_release(a, x) (step(), store_state((a), (x)))
#define ws_add_acq_rel(a, x) (step(), fence(), __atomic_fetch_add(&(a)->v, (x), __ATOMIC_ACQ_REL))
#define ws_and_acq_rel(a, x) (step(), fence(), __atomic_fetch_and(&(a)->v, (x), __ATOMIC_ACQ_REL))
#define ws_or_acq_rel(a, x) (step(), fence(), __atomic_fetch_or(&(a)->v, (x), __ATOMIC_ACQ_REL))
#define ws_cas_acq_rel(a, expected, x)                                                                       \
  (step(), fence(),                                                                                          \
   __atomic_compare_exchange_n(&(a)->v, (expected), (x), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
#define ws_fence_light(is_light) (step(), (is_light) ? (void)0 : fence())
#define ws_pause() step()
#include "../../../tasks/ws_inbox.c"

static ws_tasks_t tasks;
static ws_inbox_t inbox, *inbox_of[1] = {&inbox};
static ws_queue_t lane, *queue_of[2];
static ws_shared_cell_t cells[2];
static ws_group_t group;
static ws_au64_t elsewhere[1];

static struct {
  int32_t steps_left; ///< until the other thread comes; < 0 = it does not
  void (*other)(void);
  bool came, is_buffered;
  ws_au64_t *pending; ///< the claimer's store to it is in the buffer; NULL = there is none
  uint64_t pending_word;
  ws_task_t task; ///< that the claimer gives
  uint32_t begun; ///< times that the task was begun
  bool given, declines; ///< the claimer's
  bool missed; ///< the worker has found no task when it left, though the claimer has handed it over
} scene;

/// The one whose stores are buffered is the thread that runs first.
static bool is_first;

static void fence(void)
{
  if (is_first && scene.pending)
    __atomic_store_n(&scene.pending->v, scene.pending_word, __ATOMIC_RELEASE);
  if (is_first)
    scene.pending = NULL;
}

static void store_state(ws_au64_t *state, uint64_t word)
{
  if (!is_first || !scene.is_buffered) {
    __atomic_store_n(&state->v, word, __ATOMIC_RELEASE);
    return;
  }
  fence();
  scene.pending = state;
  scene.pending_word = word;
}

static uint64_t load_state(const ws_au64_t *word)
{
  return is_first && word == scene.pending ? scene.pending_word : __atomic_load_n(&word->v, __ATOMIC_ACQUIRE);
}

static void step(void)
{
  if (!is_first || scene.steps_left < 0 || scene.steps_left-- > 0)
    return;
  scene.came = true;
  is_first = false;
  scene.other();
  is_first = true;
}

/// @return whether @p first could be stopped before its step number @p at, where @p other acts
static bool plays(void (*first)(void), void (*other)(void), int32_t at)
{
  scene.steps_left = at;
  scene.other = other;
  is_first = true;
  first();
  step(); // its stores may still be in the buffer
  fence();
  is_first = false;
  return scene.came;
}

static void begin(bool light, bool is_buffered)
{
  memset(&tasks, 0, sizeof(tasks));
  memset(&inbox, 0, sizeof(inbox));
  memset(&lane, 0, sizeof(lane));
  memset(&scene, 0, sizeof(scene));
  memset(cells, 0, sizeof(cells));
  ws_shared_init(&tasks.shared, cells, 2);
  scene.steps_left = -1;
  scene.is_buffered = is_buffered;
  scene.task = (ws_task_t){.func = test_empty_task, .arg = &scene, .group = &group};
  tasks.inbox = inbox_of;
  tasks.queue = queue_of;
  tasks.workers = tasks.mask_words = 1;
  tasks.light = light;
  ws_tasks_put(&tasks, &lane, 1);
  CU_ASSERT_TRUE(ws_inbox_open(&inbox, tasks.waiting));
}

static void begun(const ws_task_t *task)
{
  scene.begun++;
  CU_ASSERT_PTR_EQUAL(task->arg, scene.task.arg);
}

// What the claimer does.

static void claims(void)
{
  lane.claim = ws_inbox_claim(&tasks, tasks.waiting, 1);
}

static void gives(void)
{
  if (lane.claim.bits == 0)
    return;
  scene.given = ws_inbox_give(&tasks, &lane, &lane.claim, &scene.task);
  if (!scene.given)
    begun(&scene.task); // it keeps the task
}

static void claims_and_gives(void)
{
  claims();
  gives();
}

static void declines(void)
{
  scene.declines = true;
  ws_inbox_decline(&tasks, &lane, &lane.claim);
}

// What the worker does.

static void takes(void)
{
  ws_task_t task;
  ws_inbox_empty(&inbox, &task);
  begun(&task);
}

static void shuts(void)
{
  if (ws_inbox_shut(&tasks, &inbox))
    takes();
}

static void shuts_and_comes_back(void)
{
  shuts();
  ws_inbox_open(&inbox, tasks.waiting);
}

static void shuts_and_waits_elsewhere(void)
{
  shuts();
  ws_inbox_open(&inbox, elsewhere);
}

static void shuts_twice(void)
{
  shuts_and_comes_back();
  if (inbox.open)
    shuts();
}

static void looks(void)
{
  if (ws_inbox_has_gone(&inbox) && ws_inbox_look(&inbox))
    takes();
}

// What others do.

static void joiner_takes(void)
{
  static ws_queue_t joiner;
  ws_task_t task;
  if (ws_inbox_take_back(&tasks, &joiner, &group, &task))
    begun(&task);
}

static void any_takes(void)
{
  ws_task_t task;
  if (ws_inbox_take_any(&tasks, &task))
    begun(&task);
}

static void guard_takes(void)
{
  ws_task_t task;
  ws_inbox_mark_stuck(&tasks);
  __atomic_store_n(&tasks.stuck.v, ws_inbox_mark_stuck(&tasks), __ATOMIC_RELAXED);
  if (ws_places_take_stuck(&tasks, &task))
    begun(&task);
}

/// Everything is visible. The worker comes to its next search, and waits or shuts again.
static void check(const char *what, int32_t at)
{
  const uint32_t begun_before = scene.begun;
  looks();
  const bool looked = scene.begun != begun_before;
  if (inbox.open)
    shuts();
  const uint32_t wanted = scene.declines ? 0 : 1;
  const bool works = scene.begun == wanted && !inbox.gone.v && state_of(inbox.state.v) == WS_INBOX_AWAY
                     && tasks.waiting[0].v == 0 && ws_inbox_open(&inbox, tasks.waiting)
                     && inbox.state.v % WS_INBOX_STATES == WS_INBOX_WAITING;
  scene.missed |= looked;
  if (!works)
    printf("\n    %s, stopped before step %d: begun %u of %u, state %llu, gone %u\n", what, at, scene.begun, wanted,
           (unsigned long long)inbox.state.v, inbox.gone.v);
  CU_ASSERT_TRUE(works);
}

typedef struct {
  const char *name;
  void (*act)(void);
} act_t;
#define ACT(function)                                                                                        \
  {                                                                                                          \
#function, function                                                                                      \
  }
static const act_t worker_acts[] = {ACT(shuts), ACT(shuts_and_comes_back), ACT(shuts_and_waits_elsewhere),
                                    ACT(shuts_twice)};
static const act_t taker_acts[] = {ACT(joiner_takes), ACT(any_takes), ACT(guard_takes)};
static const act_t claimer_acts[] = {ACT(gives), ACT(declines)};

static uint32_t places; ///< where a thread was stopped

/// Play it with the other thread at each step of the first one. @return how often the worker found the task
/// only at its next search
static uint32_t play(void (*prepare)(void), void (*first)(void), const act_t *other, bool light, bool buffered)
{
  uint32_t missed = 0;
  for (int32_t at = 0;; at++) {
    begin(light, buffered);
    prepare();
    if (!plays(first, other->act, at))
      return missed;
    check(other->name, at);
    missed += scene.missed;
    places++;
  }
}

static void a_worker_acts_between_steps_of_a_fill(void)
{
  for (uint32_t light = 0; light <= 1; light++)
    for (uint32_t i = 0; i < TEST_COUNT(worker_acts); i++)
      CU_ASSERT_EQUAL(play(claims, gives, &worker_acts[i], light, false), 0);
}

/// The worker has left before, and comes to its next search.
static void claims_what_leaves(void)
{
  claims();
  ws_inbox_shut(&tasks, &inbox);
}

static void a_worker_that_has_left_looks_between_steps_of_a_fill(void)
{
  static const act_t look = ACT(looks);
  for (uint32_t light = 0; light <= 1; light++)
    play(claims_what_leaves, gives, &look, light, light);
}

/// A fence that is not light: the worker or the claimer sees what the other has done. With a light one the
/// worker may have to look again, if it leaves when the fill is on its way.
static void only_with_light_fences_a_fill_is_missed(void)
{
  uint32_t missed = 0;
  for (uint32_t i = 0; i < TEST_COUNT(worker_acts); i++)
    CU_ASSERT_EQUAL(play(claims, gives, &worker_acts[i], false, true), 0);
  for (uint32_t i = 0; i < TEST_COUNT(worker_acts); i++)
    missed += play(claims, gives, &worker_acts[i], true, true);
  CU_ASSERT_TRUE(missed > 0);
}

static void a_worker_acts_between_steps_of_a_decline(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(worker_acts); i++)
    CU_ASSERT_EQUAL(play(claims, declines, &worker_acts[i], true, true), 0);
}

static void a_claimer_acts_between_steps_of_a_shut(void)
{
  for (uint32_t light = 0; light <= 1; light++)
    for (uint32_t i = 0; i < TEST_COUNT(claimer_acts); i++)
      for (uint32_t k = 0; k < TEST_COUNT(worker_acts); k++)
        CU_ASSERT_EQUAL(play(claims, worker_acts[k].act, &claimer_acts[i], light, false), 0);
}

static void a_claim_comes_between_steps_of_a_shut(void)
{
  static const act_t claim = ACT(claims_and_gives);
  for (int32_t at = 0;; at++) {
    begin(true, false);
    const bool came = plays(shuts, claim.act, at);
    scene.declines |= !scene.given && scene.begun == 0; // the worker was not claimed
    check(claim.name, at);
    if (!came)
      return;
  }
}

static void claims_and_has_given(void)
{
  claims();
  gives();
}

static void a_task_is_taken_once(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(taker_acts); i++) {
    for (uint32_t k = 0; k < TEST_COUNT(worker_acts); k++)
      play(claims_and_has_given, worker_acts[k].act, &taker_acts[i], true, false);
    for (uint32_t k = 0; k < TEST_COUNT(taker_acts); k++)
      play(claims_and_has_given, taker_acts[k].act, &taker_acts[i], true, false);
    for (uint32_t light = 0; light <= 1; light++) {
      play(claims, gives, &taker_acts[i], light, false);
      play(claims_what_leaves, gives, &taker_acts[i], light, light);
    }
  }
}

static void places_were_tried(void)
{
  CU_ASSERT_TRUE(places > 500);
}

TEST_MAIN("inbox_steps", TEST_CASE(a_worker_acts_between_steps_of_a_fill),
          TEST_CASE(a_worker_that_has_left_looks_between_steps_of_a_fill),
          TEST_CASE(only_with_light_fences_a_fill_is_missed),
          TEST_CASE(a_worker_acts_between_steps_of_a_decline),
          TEST_CASE(a_claimer_acts_between_steps_of_a_shut), TEST_CASE(a_claim_comes_between_steps_of_a_shut),
          TEST_CASE(a_task_is_taken_once), TEST_CASE(places_were_tried))
