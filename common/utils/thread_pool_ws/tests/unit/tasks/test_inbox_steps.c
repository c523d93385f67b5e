// SPDX-License-Identifier: BSD-3-Clause
/// @file test_inbox_steps.c
/// A thread is stopped before each single atomic step of a fill, a shut or a take; another thread acts there:
/// all such interleavings, one after the other, on one thread. What the first thread stores may stay in a
/// buffer, as in a CPU's, until a read-modify-write, a fence that is not light, or the end of its call. In
/// each interleaving the task is begun once, and the inbox can be used again.
#include <stdio.h>
#include <string.h>

#include "../../../tasks/ws_group_word.h"
#include "../../../tasks/ws_inbox.h"
#include "../../../tasks/ws_places.h"
#include "../../support/ws_test.h"

static void step(void);
static void store(void *word, uint64_t value, bool is_long);
static uint64_t load(const void *word, bool is_long);
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
#define ws_load_relaxed(a) ((__typeof__((a)->v))(uintptr_t)(step(), load((a), sizeof((a)->v) == 8)))
#define ws_load_acquire(a) ws_load_relaxed(a)
#define ws_expected_load(a) ws_load_relaxed(a)
#define ws_store_relaxed(a, x) (step(), store((a), (uint64_t)(uintptr_t)(x), sizeof((a)->v) == 8))
#define ws_store_release(a, x) ws_store_relaxed(a, x)
#define ws_add_acq_rel(a, x) (step(), fence(), __atomic_fetch_add(&(a)->v, (x), __ATOMIC_ACQ_REL))
#define ws_and_acq_rel(a, x) (step(), fence(), __atomic_fetch_and(&(a)->v, (x), __ATOMIC_ACQ_REL))
#define ws_or_acq_rel(a, x) (step(), fence(), __atomic_fetch_or(&(a)->v, (x), __ATOMIC_ACQ_REL))
#define ws_cas_acq_rel(a, expected, x)                                                                       \
  (step(), fence(),                                                                                          \
   __atomic_compare_exchange_n(&(a)->v, (expected), (x), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
#define ws_fence_light(is_light) (step(), (is_light) ? (void)0 : fence())
#define ws_fence_seq_cst_after_rmw() step() // on x86 the read-modify-write is the fence
#define ws_pause() step()
#include "../../../tasks/ws_inbox.c"

static ws_tasks_t tasks;
static ws_inbox_t inbox, *inbox_of[1] = {&inbox};
static ws_queue_t lane, *queue_of[2];
static ws_group_t group;
static ws_au64_t elsewhere[1];

#define BUFFERED_MAX 8u
#define ACTS 2u ///< of the other thread

typedef struct {
  void *word;
  uint64_t value;
  bool is_long;
} stored_t;

static struct {
  struct {
    int32_t steps_left; ///< until the other thread comes; < 0 = it does not
    void (*act)(void);
  } other[ACTS];
  uint32_t came; ///< times that it did
  bool is_buffered;
  stored_t buffer[BUFFERED_MAX]; ///< stores of the first thread that are not visible yet
  uint32_t stores;
  ws_task_t task; ///< that the claimer gives
  uint32_t begun; ///< times that the task was begun
  bool claimed, declines; ///< the claimer's
  bool missed; ///< the worker has found no task when it left, though the claimer has handed it over
} scene;

static bool is_first; ///< the thread that acts is the first one

static void write_to(const stored_t *stored)
{
  if (stored->is_long)
    __atomic_store_n((uint64_t *)stored->word, stored->value, __ATOMIC_RELEASE);
  else
    __atomic_store_n((uint32_t *)stored->word, (uint32_t)stored->value, __ATOMIC_RELEASE);
}

static void fence(void)
{
  for (uint32_t i = 0; is_first && i < scene.stores; i++)
    write_to(&scene.buffer[i]);
  scene.stores = is_first ? 0 : scene.stores;
}

static void store(void *word, uint64_t value, bool is_long)
{
  const stored_t stored = {.word = word, .value = value, .is_long = is_long};
  if (is_first && scene.is_buffered && scene.stores == BUFFERED_MAX)
    fence();
  if (is_first && scene.is_buffered)
    scene.buffer[scene.stores++] = stored;
  else
    write_to(&stored);
}

static uint64_t load(const void *word, bool is_long)
{
  for (uint32_t i = scene.stores; is_first && i-- > 0;)
    if (scene.buffer[i].word == word)
      return scene.buffer[i].value;
  return is_long ? __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE)
                 : __atomic_load_n((const uint32_t *)word, __ATOMIC_ACQUIRE);
}

static void step(void)
{
  for (uint32_t i = 0; is_first && i < ACTS; i++) {
    if (scene.other[i].steps_left < 0 || scene.other[i].steps_left-- > 0)
      continue;
    scene.came++;
    is_first = false;
    scene.other[i].act();
    is_first = true;
  }
}

/// Stop @p thread where the other one shall act. @return how often that one has acted
static uint32_t plays(void (*thread)(void))
{
  is_first = true;
  thread();
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
  for (uint32_t i = 0; i < ACTS; i++)
    scene.other[i].steps_left = -1;
  scene.is_buffered = is_buffered;
  scene.task = (ws_task_t){.func = test_empty_task, .arg = &scene, .group = &group};
  tasks.inbox = inbox_of;
  tasks.queue = queue_of;
  tasks.workers = tasks.mask_words = 1;
  tasks.light.v = light;
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
  scene.claimed = lane.claim.bits != 0;
}

static void gives(void)
{
  if (lane.claim.bits != 0 && !ws_inbox_give(&tasks, &lane, &lane.claim, &scene.task))
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
  ws_inbox_watch(&tasks);
  ws_inbox_watch(&tasks);
  if (ws_places_take_stuck(&tasks, &task))
    begun(&task);
}

/// Everything is visible. The worker comes to its next search, and waits or shuts again.
static void check(const char *what, int32_t at, int32_t then)
{
  const uint32_t begun_before = scene.begun;
  looks();
  scene.missed = scene.begun != begun_before;
  if (inbox.open)
    shuts();
  const uint32_t wanted = scene.claimed && !scene.declines;
  const bool works = scene.begun == wanted && !inbox.gone.v && state_of(inbox.state.v) == WS_INBOX_AWAY
                     && tasks.waiting[0].v == 0 && ws_inbox_open(&inbox, tasks.waiting)
                     && state_of(inbox.state.v) == WS_INBOX_WAITING;
  if (!works)
    printf("\n    %s, before steps %d and %d: begun %u of %u, state %llu, gone %u\n", what, at, then,
           scene.begun, wanted, (unsigned long long)inbox.state.v, inbox.gone.v);
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
static uint32_t play(void (*prepare)(void), void (*first)(void), const act_t *other, bool light,
                     bool is_buffered)
{
  uint32_t missed = 0;
  for (int32_t at = 0;; at++) {
    begin(light, is_buffered);
    prepare();
    scene.other[0].steps_left = at;
    scene.other[0].act = other->act;
    if (plays(first) < 1)
      return missed;
    check(other->name, at, -1);
    missed += scene.missed;
    places++;
  }
}

/// As play(). The other thread acts twice.
static void play_twice(void (*prepare)(void), void (*first)(void), const act_t *other, const act_t *then,
                       bool light)
{
  uint32_t came = 2;
  for (int32_t at = 0; came > 0; at++) {
    came = 2;
    for (int32_t at_then = at; came == 2; at_then++) {
      begin(light, true);
      prepare();
      scene.other[0].steps_left = at;
      scene.other[0].act = other->act;
      scene.other[1].steps_left = at_then;
      scene.other[1].act = then->act;
      came = plays(first);
      check(then->name, at, at_then);
      places++;
    }
  }
}

static void nothing(void) {}

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

/// The worker's stores may be buffered, too.
static void a_claimer_acts_between_steps_of_a_shut(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(claimer_acts); i++)
    for (uint32_t k = 0; k < TEST_COUNT(worker_acts); k++)
      for (uint32_t is_buffered = 0; is_buffered <= 1; is_buffered++)
        CU_ASSERT_EQUAL(play(claims, worker_acts[k].act, &claimer_acts[i], true, is_buffered), 0);
}

static void a_claim_comes_between_steps_of_a_shut(void)
{
  static const act_t claim = ACT(claims_and_gives);
  for (uint32_t k = 0; k < TEST_COUNT(worker_acts); k++)
    CU_ASSERT_EQUAL(play(nothing, worker_acts[k].act, &claim, true, true), 0);
}

/// A worker that leaves directly after the claim is seen, too.
static void a_worker_acts_between_steps_of_a_claim_and_fill(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(worker_acts); i++)
    CU_ASSERT_EQUAL(play(nothing, claims_and_gives, &worker_acts[i], false, true), 0);
}

/// It leaves, and later in the same fill it looks, or another thread takes the task.
static void a_worker_leaves_and_looks_between_steps_of_a_fill(void)
{
  static const act_t look = ACT(looks);
  for (uint32_t light = 0; light <= 1; light++)
    for (uint32_t i = 0; i < TEST_COUNT(worker_acts); i++) {
      play_twice(claims, gives, &worker_acts[i], &look, light);
      for (uint32_t k = 0; k < TEST_COUNT(taker_acts); k++)
        play_twice(claims, gives, &worker_acts[i], &taker_acts[k], light);
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
  CU_ASSERT_TRUE(places > 1000);
}

TEST_MAIN("inbox_steps", TEST_CASE(a_worker_acts_between_steps_of_a_fill),
          TEST_CASE(a_worker_that_has_left_looks_between_steps_of_a_fill),
          TEST_CASE(only_with_light_fences_a_fill_is_missed),
          TEST_CASE(a_worker_acts_between_steps_of_a_decline),
          TEST_CASE(a_claimer_acts_between_steps_of_a_shut), TEST_CASE(a_claim_comes_between_steps_of_a_shut),
          TEST_CASE(a_worker_acts_between_steps_of_a_claim_and_fill),
          TEST_CASE(a_worker_leaves_and_looks_between_steps_of_a_fill), TEST_CASE(a_task_is_taken_once),
          TEST_CASE(places_were_tried))
