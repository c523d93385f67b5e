// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_test.h
/// What the tests of the interface tpool share.
#ifndef TPOOL_TEST_H
#define TPOOL_TEST_H

#include "../../tests/support/ws_test.h" // IWYU pragma: export
#include "../private/tpool_room.h" // IWYU pragma: export
#include "../tpool.h" // IWYU pragma: export

/// The room is the first field of a pool.
static inline tpool_room_t *test_room(tpool *pool)
{
  return (tpool_room_t *)(void *)pool;
}

typedef struct {
  tpool *pool;
  uint32_t threads;
} test_blocked_t;

static inline bool test_are_blocked(void *blocked_arg)
{
  const test_blocked_t *blocked = blocked_arg;
  const tpool_room_t *room = test_room(blocked->pool);
  return ws_load_acquire(&room->sleepers) == blocked->threads;
}

/// @return false when fewer than @p threads are blocked in tpool_add() within the deadline
static inline bool test_until_blocked(tpool *pool, uint32_t threads)
{
  return test_until(test_are_blocked, &(test_blocked_t){pool, threads});
}

static inline bool test_is_closed(void *pool)
{
  return tpool_room_is_closed(test_room(pool));
}

/// @return whether a thread waits until all that are blocked have left
static inline bool test_is_awaited(void *pool)
{
  return ws_load_acquire(&test_room(pool)->sleepers) >> 31 != 0;
}

/// A pool of one thread that stands in a gate, with a full buffer of jobs that count.
typedef struct {
  tpool *pool;
  test_gate_t gate;
  ws_au64_t ran; ///< of the queued jobs
} test_full_t;

static inline bool test_fill(test_full_t *full, int buffer)
{
  *full = (test_full_t){.pool = tpool_create(1, buffer)};
  test_gate_init(&full->gate);
  bool is_full = full->pool && tpool_add(full->pool, test_gate_task, &full->gate) == 0
                 && test_gate_await(&full->gate, 1);
  for (int i = 0; i < buffer && is_full; i++)
    is_full = tpool_try_add(full->pool, test_count_task, &full->ran) == 0;
  return is_full;
}

/// Let the thread go and end the pool.
static inline void test_empty(test_full_t *full)
{
  test_gate_let(&full->gate, 1);
  tpool_destroy(full->pool);
  test_gate_destroy(&full->gate);
}

/// A thread outside that adds one job.
typedef struct {
  tpool *pool;
  void (*func)(void *);
  void *arg;
  int result;
} test_adder_t;

static inline void *test_add_one(void *adder_arg)
{
  test_adder_t *adder = adder_arg;
  adder->result = tpool_add(adder->pool, adder->func, adder->arg);
  return NULL;
}

#endif
