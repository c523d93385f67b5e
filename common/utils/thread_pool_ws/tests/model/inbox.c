// SPDX-License-Identifier: BSD-3-Clause
/// @file inbox.c
/// The shipped tasks/ws_inbox.c under the C11 memory model (GenMC). A worker opens and shuts its inbox OPENS
/// times. FILLERS threads reserve it, and give it a task each. The first one takes its task back if it can
/// (-DBACK), or declines instead (-DDECLINE). With -DSTUCK another thread marks what it sees at two looks,
/// and takes it. Each task runs once, wherever it ends. No thread looks later: a task that is still in the
/// inbox when the worker has left is lost here.
/// -DGUARD: a guard becomes dormant meanwhile (GUARD_DEKKER). -DSTOP: the pool stops meanwhile (STOP_DEKKER).
/// In these two no worker acts: the inbox has been reserved before. run_genmc makes mutants by editing a copy
/// of the sources. The steps' order: Inbox.pml.
///
/// Mutants that pass: "left add relaxed", "left seen relaxed", "gone after left": the two fences of
/// LEFT_DEKKER order gone as well. Where the filler's fence is light, these orders save looks of the guard.
/// "left first relaxed": to reserve releases, so it comes after the load. "fill first blind": the look before
/// the fill saves work.
///
/// Light fences (-DPOINT=0..3, with -DGUARD or -DSTOP): the filler's own fence is none. The heavy fence is
/// what membarrier(2) does: each thread executes a fence at some point between the begin and the end of the
/// call. POINT is where the filler does: 0 = before the fill, 1 = between the fill and the look at left,
/// 2 = between that and the look at the guard or the state, 3 = after it.
#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The checker needs neither stdio nor a processor's own instructions.
#undef __x86_64__
#define WS_SIMULATED
#define WS_BASE_H
#define WS_SPACING 8
#define WS_LIKELY(x) (x)
#define WS_UNLIKELY(x) (x)
#define WS_FOR_FIBERS
#define WS_TO(state) (1u << (state))
#define WS_CHANGES(table, from, to) ((void)sizeof((table)[0] + (from) + (to))) // Inbox.pml checks them
#define sim_pause() ((void)0)
#include "base/ws_atomic.h"
#include "tasks/ws_tasks.h"

static void fence_here(int point);
#ifdef POINT
#define ws_fence_light(is_light) fence_here(1)
#endif
#include "tasks/ws_inbox.c"

#ifdef STUCK
#define LOOKERS 1
#else
#define LOOKERS 0
#endif
#ifndef OPENS
#define OPENS 1
#endif
#ifndef FILLERS
#define FILLERS 1
#endif

static ws_tasks_t tasks;
static ws_au64_t mask;
static ws_inbox_t inbox, *inboxes[1] = {&inbox};
static ws_queue_t own[FILLERS];
static int payload[FILLERS]; // plain: a race on it is an error
static ws_au32_t ran[FILLERS];

static void run_task(const ws_task_t *task)
{
  const int *value = task->arg;
  assert(*value == 7);
  assert(ws_add_relaxed(&ran[value - payload], 1) == 0);
}

static ws_au32_t begun, fenced;

/// The filler's part of a heavy fence.
static void fence_here(int point)
{
#ifdef POINT
  if (point != POINT)
    return;
  __VERIFIER_assume(ws_load_acquire(&begun) == 1);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  ws_store_release(&fenced, 1);
#else
#endif
}

static void heavy_fence(void)
{
#ifndef NO_HEAVY
  ws_fence_seq_cst();
#ifdef POINT
  ws_store_release(&begun, 1);
  __VERIFIER_assume(ws_load_acquire(&fenced) == 1);
  ws_fence_seq_cst();
#endif
#endif
}

static void make_task(long i, ws_task_t *task)
{
  payload[i] = 7;
  task->func = NULL;
  task->arg = &payload[i];
  task->group = (ws_group_t *)(void *)&own[i];
}

#if defined(GUARD) || defined(STOP)
static ws_au32_t guard, stopped; // guard: 1 = standing
static ws_reserved_t reserved;

static void *filler(void *unused)
{
  ws_task_t task;
  make_task(0, &task);
  fence_here(0);
  assert(ws_inbox_give(&tasks, &own[0], &reserved, &task)); // the worker does not leave
  fence_here(2);
#ifdef GUARD
  if (ws_load_relaxed(&guard) == 0) {
    uint32_t dormant = 0;
    ws_cas_acq_rel(&guard, &dormant, 1);
  }
#else
  if (ws_load_relaxed(&stopped) && ws_inbox_take_any(&tasks, &task))
    run_task(&task);
#endif
  fence_here(3);
  return unused;
}

static void *other(void *unused)
{
#ifdef GUARD
  uint32_t standing = 1, dormant = 0;
  ws_cas_acq_rel(&guard, &standing, 0);
  heavy_fence();
  if (ws_inbox_count(&tasks) > 0)
    ws_cas_acq_rel(&guard, &dormant, 1);
#else
  ws_task_t task;
  ws_store_release(&stopped, 1);
  heavy_fence();
  while (ws_inbox_take_any(&tasks, &task))
    run_task(&task);
#endif
  return unused;
}

static void run(void)
{
  pthread_t thread[2];
  ws_store_relaxed(&guard, 1);
  ws_inbox_open(&inbox, &mask);
  reserved = ws_inbox_reserve(&tasks, &mask, 1);
  pthread_create(&thread[0], NULL, filler, NULL);
  pthread_create(&thread[1], NULL, other, NULL);
  pthread_join(thread[0], NULL);
  pthread_join(thread[1], NULL);
#ifdef GUARD
  assert(ws_load_relaxed(&guard) == 1);
#else
  assert(ws_load_relaxed(&ran[0]) == 1);
#endif
}

#else
static void *filler(void *index)
{
  const long i = (long)index;
  ws_task_t task;
  make_task(i, &task);
  ws_reserved_t reserved = ws_inbox_reserve(&tasks, &mask, 1);
#ifdef DECLINE
  if (i == 0) {
    ws_inbox_decline(&tasks, &own[i], &reserved);
    run_task(&task);
    return NULL;
  }
#endif
  if (reserved.bits == 0 || !ws_inbox_give(&tasks, &own[i], &reserved, &task))
    run_task(&task);
#ifdef BACK
  if (i == 0 && ws_inbox_take_back(&tasks, &own[i], (ws_group_t *)(void *)&own[i], &task)) {
    assert(task.arg == &payload[i]);
    run_task(&task);
  }
#endif
  return NULL;
}

static void *looker(void *unused)
{
  ws_task_t task;
  ws_inbox_watch(&tasks);
  ws_inbox_watch(&tasks);
  if (ws_inbox_take_stuck(&tasks, &task))
    run_task(&task);
  return unused;
}

static void *worker(void *unused)
{
  ws_task_t task;
  for (int i = 0; i < OPENS; i++) {
    ws_inbox_open(&inbox, &mask);
    if (ws_inbox_shut(&tasks, &inbox)) {
      ws_inbox_empty(&inbox, &task);
      run_task(&task);
    }
  }
  return unused;
}

static void run(void)
{
  pthread_t thread[FILLERS + 1 + LOOKERS];
  pthread_create(&thread[FILLERS], NULL, worker, NULL);
  if (LOOKERS > 0)
    pthread_create(&thread[FILLERS + LOOKERS], NULL, looker, NULL);
  for (long i = 0; i < FILLERS; i++)
    pthread_create(&thread[i], NULL, filler, (void *)i);
  for (int i = 0; i <= FILLERS + LOOKERS; i++)
    pthread_join(thread[i], NULL);
  for (int i = 0; i < FILLERS; i++)
    assert(ws_load_relaxed(&ran[i]) == 1);
}
#endif

int main(void)
{
  for (uint32_t i = 0; i < FILLERS; i++)
    own[i].index = i + 1;
  tasks.inbox = inboxes;
  tasks.inboxes = 1;
  tasks.mask_words = 1;
  run();
  return 0;
}
