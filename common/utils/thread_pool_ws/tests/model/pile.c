// SPDX-License-Identifier: BSD-3-Clause
/// @file pile.c
/// The shipped tasks/ws_pile.c and core/ws_group.c under the C11 memory model (GenMC). Workers of one circle
/// complete a task each, as core/ws_complete.c does: the first THIS of them a task of one group, then OTHER
/// ones a task of another group. A guard looks twice, and completes what it has seen. A thread that sees the
/// first group done reads what its tasks wrote, and frees the group's memory. In the end both groups are
/// done. -DREUSE: then another group has the same address. -DOPEN: the first worker collects, and the second
/// has put its completion on the pile, before the other threads begin. -DDORMANT: a guard becomes dormant,
/// and a worker adds to the pile of one that loses its CPU. Then the guard stands again (GUARD_DEKKER).
/// run_genmc makes mutants by editing a copy of ws_pile.c. There a group's address is a number, because the
/// checker's addresses use the highest bits.
#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The checker needs neither stdio nor a processor's own instructions, nor the operating system.
#undef __x86_64__
#define WS_SIMULATED
#define WS_BASE_H
#define WS_TSAN_H
#define WS_PROCESS_H
#define WS_PROBE_H
#define WS_SPACING 8
#define WS_LIKELY(x) (x)
#define WS_UNLIKELY(x) (x)
#define WS_FOR_FIBERS
#define WS_SELDOM
#define WS_REQUIRE(x, call, ...) assert(x)
#define WS_PROBE(...) ((void)0)
#define ws_tsan_release(x) ((void)0)
#define ws_tsan_acquire(x) ((void)0)
#define sim_pause() ((void)0)
#include "base/ws_atomic.h"

typedef struct {
  void (*completed)(ws_au32_t *word);
} ws_hooks_t;

static const ws_hooks_t *ws_process_hooks(void)
{
  return NULL;
}

static void ws_os_futex_wake(ws_au32_t *word, uint32_t count)
{
  (void)word;
  (void)count;
}

static int ws_os_futex_wait_until(ws_au32_t *word, uint32_t seen, uint64_t until_ns)
{
  (void)word;
  (void)seen;
  (void)until_ns;
  return 0;
}
#include "core/ws_group.c"

#ifndef THIS
#define THIS 2
#endif
#ifndef OTHER
#define OTHER 0
#endif
#ifdef REUSE
#define LATER 1
#else
#define LATER 0
#endif
#ifdef OPEN
#define OPENED true
#else
#define OPENED false
#endif
#ifdef NO_GUARD
#define GUARDS 0
#else
#define GUARDS 1
#endif
#define ALL (THIS + OTHER + LATER)

#include "tasks/ws_tasks.h"

static ws_circle_t *circle;
static ws_group_t *groups[2];

static uint64_t number_of(const ws_group_t *group)
{
  return group == groups[0] ? 1 : 2;
}

static ws_group_t *group_of(uint64_t number)
{
  return groups[number - 1];
}
#include "tasks/ws_pile.c"

static ws_circle_t the_circle;
static int result[ALL]; // plain: a race on it is an error
static ws_au32_t freed;

static ws_group_t *group_at(long i)
{
  return groups[i >= THIS && i < THIS + OTHER];
}

/// The steps of collect() in core/ws_complete.c.
static void *worker(void *index)
{
  const long i = (long)index;
  ws_group_t *group = group_at(i);
  bool collects = OPENED && i == 0;
  if (OPENED && i == 1)
    return NULL;
  if (!collects) {
    result[i] = 1;
    if (ws_pile_add(circle, group, 1))
      return NULL;
    collects = ws_pile_open(circle, group);
  }
  ws_group_complete(group, 1);
  const uint32_t more = collects ? ws_pile_close(circle) : 0;
  if (more > 0)
    ws_group_complete(group, more);
  return NULL;
}

static void *guard(void *unused)
{
  uint32_t tasks;
  for (int i = 0; i < 2; i++) {
    ws_group_t *group = ws_pile_take_stuck(circle, &tasks);
    if (group)
      ws_group_complete(group, tasks);
  }
  return unused;
}

static void *waiter(void *unused)
{
  if (!ws_group_done(groups[0]))
    return unused;
  for (int i = 0; i < THIS; i++)
    assert(result[i] == 1);
  free(groups[0]);
  ws_store_relaxed(&freed, 1);
  return unused;
}

#ifdef DORMANT
static ws_au32_t standing;
static ws_tasks_t tasks;

static ws_au32_t added;

static void *opens(void *unused)
{
  assert(ws_pile_open(circle, groups[0]));
  return unused;
}

static void *adds(void *unused)
{
  if (!ws_pile_add(circle, groups[0], 1))
    return unused;
  ws_store_relaxed(&added, 1);
#ifndef NO_FENCE
  ws_fence_seq_cst_after_rmw();
#endif
  uint32_t dormant = 0;
  if (ws_load_relaxed(&standing) == 0)
    ws_cas_acq_rel(&standing, &dormant, 1);
  return unused;
}

static void *rests(void *unused)
{
  uint32_t is = 1, dormant = 0;
  ws_cas_acq_rel(&standing, &is, 0);
#ifndef NO_HEAVY
  ws_fence_seq_cst();
#endif
  if (ws_pile_is_open(&tasks))
    ws_cas_acq_rel(&standing, &dormant, 1);
  return unused;
}

int main(void)
{
  pthread_t thread[3];
  circle = &the_circle;
  groups[0] = malloc(sizeof(ws_group_t));
  tasks.circle = circle;
  tasks.piles = 1;
  ws_store_relaxed(&standing, 1);
  pthread_create(&thread[0], NULL, adds, NULL);
  pthread_create(&thread[1], NULL, rests, NULL);
  pthread_create(&thread[2], NULL, opens, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(thread[i], NULL);
  assert(ws_load_relaxed(&added) == 0 || ws_load_relaxed(&standing) == 1);
  return 0;
}
#else
int main(void)
{
  pthread_t thread[ALL + 2];
  circle = &the_circle;
  for (int i = 0; i < 2; i++)
    groups[i] = malloc(sizeof(ws_group_t));
  ws_group_init(groups[0], THIS);
  ws_group_init(groups[1], OTHER);
  if (OPENED) {
    result[0] = result[1] = 1;
    assert(ws_pile_open(circle, groups[0]) && ws_pile_add(circle, groups[0], 1));
  }
  for (long i = 0; i < THIS + OTHER; i++)
    pthread_create(&thread[i], NULL, worker, (void *)i);
  if (GUARDS > 0)
    pthread_create(&thread[ALL], NULL, guard, NULL);
#ifdef REUSE
  __VERIFIER_assume(ws_group_done(groups[0]));
  ws_group_init(groups[0], LATER);
  pthread_create(&thread[ALL - 1], NULL, worker, (void *)(ALL - 1L));
#else
  pthread_create(&thread[ALL + 1], NULL, waiter, NULL);
  pthread_join(thread[ALL + 1], NULL);
#endif
  for (int i = 0; i < ALL + GUARDS; i++)
    pthread_join(thread[i], NULL);
  if (!ws_load_relaxed(&freed)) {
    assert(ws_group_done(groups[0]));
    for (int i = 0; i < THIS; i++)
      assert(result[i] == 1);
  }
  assert(ws_group_done(groups[1]));
  assert(ws_load_relaxed(&circle->pile) == 0);
  return 0;
}
#endif
