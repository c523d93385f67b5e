// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sem.c
/// A counting semaphore. A unit is given to the oldest wait, or else counted.
///
/// word: bits 1..31 = units, bit 0 = WAITED. A wait begins only while there are no units.
///   WAITED changes under the lock of the bucket only. Legal: set although no wait is left. Illegal: clear
///   while a wait is in the lot.
#include <errno.h>

#include "../fiber/ws_lot.h"
#include "../include/ws_fiber.h"
#include "ws_sync_word.h"

#define WAITED 1u
#define UNIT 2u
/// The sum would overflow, and look small.
#define REQUIRE_ROOM(call, units, before)                                                                    \
  WS_REQUIRE((uint64_t)(before) + (units) <= WS_SEM_UNITS_MAX, call,                                         \
             "%u units on top of %u: a semaphore holds %u at most", units, before, WS_SEM_UNITS_MAX)

void ws_sem_init(ws_sem_t *sem, uint32_t units)
{
  REQUIRE_ROOM("ws_sem_init", units, 0u);
  ws_init_store(ws_sync_word(&sem->word), units * UNIT);
}

static bool take_unit(ws_sem_t *sem)
{
  ws_au32_t *word = ws_sync_word(&sem->word);
  uint32_t seen = ws_expected_load(word);
  while (seen >= UNIT)
    if (ws_cas_acq_rel(word, &seen, seen - UNIT)) // [edge SYNC acq_rel]
      return true;
  return false;
}

bool ws_sem_trywait(ws_sem_t *sem)
{
  if (take_unit(sem))
    return true;
  ws_yield_sometimes(); // who would post may need this worker
  return false;
}

/// Announce the wait. @return whether there is no unit: if there is one, the caller gets it
static bool is_empty(void *sem_arg)
{
  ws_au32_t *word = ws_sync_word(&((ws_sem_t *)sem_arg)->word);
  uint32_t seen = ws_expected_load(word);
  for (;;)
    if (ws_cas_acq_rel(word, &seen, seen >= UNIT ? seen - UNIT : seen | WAITED)) // [edge SYNC acq_rel]
      return seen < UNIT;
}

int ws_sem_wait_until(ws_sem_t *sem, uint64_t deadline_ns)
{
  if (take_unit(sem))
    return 0;
  const int result = ws_lot_park(sem, is_empty, sem, deadline_ns, true);
  return result == -EAGAIN ? 0 : result;
}

int ws_sem_wait(ws_sem_t *sem)
{
  return ws_sem_wait_until(sem, WS_SYNC_NO_DEADLINE);
}

typedef struct {
  ws_sem_t *sem;
  uint32_t units;
} post_t;

static void count(ws_au32_t *word, uint32_t units, bool waited)
{
  uint32_t seen = ws_expected_load(word), next;
  do {
    REQUIRE_ROOM("ws_sem_post", units, seen / UNIT);
    next = (seen & ~WAITED) + units * UNIT + (waited ? WAITED : 0);
  } while (!ws_cas_acq_rel(word, &seen, next)); // [edge SYNC acq_rel]
}

/// Under the lock of the bucket.
static void give(void *post_arg, uint32_t woken, bool more)
{
  const post_t *post = post_arg;
  count(ws_sync_word(&post->sem->word), post->units - woken, more);
}

void ws_sem_post(ws_sem_t *sem, uint32_t units)
{
  ws_au32_t *word = ws_sync_word(&sem->word);
  uint32_t seen = ws_expected_load(word);
  REQUIRE_ROOM("ws_sem_post", units, seen / UNIT);
  while (!(seen & WAITED)) {
    REQUIRE_ROOM("ws_sem_post", units, seen / UNIT);
    if (ws_cas_acq_rel(word, &seen, seen + units * UNIT)) // [edge SYNC acq_rel]
      return;
  }
  ws_lot_unpark(sem, units, give, &(post_t){sem, units});
}
