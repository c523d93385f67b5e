// SPDX-License-Identifier: BSD-3-Clause
/// @file fork_rows_fiber.h
/// The rows of test_fork_calls.c for the library of fibers. A thread of the parent waits in each object. In
/// the child it does not, and takes nothing of what the child gives.
#ifndef FORK_ROWS_FIBER_H
#define FORK_ROWS_FIBER_H

#include <poll.h> // IWYU pragma: export
#include <sys/socket.h> // IWYU pragma: export
#include <sys/un.h> // IWYU pragma: export

#include "../../../include/ws_fd.h" // IWYU pragma: export
#include "../fiber/fiber_scene.h" // IWYU pragma: export
#include "fork_rows.h" // IWYU pragma: export

enum { PAST = 1, SOON_NS = 1000000 };

static struct {
  ws_pool_t *pool;
  ws_group_t group;
  stand_t stand; ///< of a fiber
  ws_cancel_t token; ///< of all waits
  ws_sem_t sem, of_fiber;
  ws_mutex_t mutex, of_cond; ///< mutex is locked
  ws_cond_t cond;
  ws_latch_t latch;
  ws_gate_t gate;
  ws_barrier_t two, three;
  int ends[2]; ///< of a socket pair
  test_threads_t waits;
} fiber;

static void wait_in_cond(uint64_t deadline_ns)
{
  ws_mutex_lock(&fiber.of_cond);
  ws_cond_wait_until(&fiber.cond, &fiber.of_cond, deadline_ns);
  ws_mutex_unlock(&fiber.of_cond);
}

enum { IN_SEM, IN_MUTEX, IN_COND, IN_LATCH, IN_GATE, IN_BARRIER, IN_FD, WAITS };

static void *wait_in(void *what)
{
  char byte;
  ws_cancel_use(&fiber.token);
  switch ((intptr_t)what) {
    case IN_SEM:
      ws_sem_wait(&fiber.sem);
      break;
    case IN_MUTEX:
      ws_mutex_lock_until(&fiber.mutex, WS_SYNC_NO_DEADLINE);
      break;
    case IN_COND:
      wait_in_cond(WS_SYNC_NO_DEADLINE);
      break;
    case IN_LATCH:
      ws_latch_wait(&fiber.latch);
      break;
    case IN_GATE:
      ws_gate_wait(&fiber.gate);
      break;
    case IN_BARRIER:
      ws_barrier_wait(&fiber.two);
      break;
    default:
      ws_fd_read(fiber.ends[0], &byte, 1, WS_SYNC_NO_DEADLINE);
  }
  return NULL;
}

static void wait_as_fiber(void *unused)
{
  ws_cancel_use(&fiber.token);
  ws_sem_wait_until(&fiber.of_fiber, test_now_ns() + UINT64_C(3600000000000));
}

static void read_as_fiber(void *unused)
{
  char byte;
  ws_cancel_use(&fiber.token);
  ws_fd_read(fiber.ends[0], &byte, 1, WS_SYNC_NO_DEADLINE);
}

static void push_waiting(void (*func)(void *), void *arg)
{
  const ws_fiber_options_t options = {.stack_bytes = 1u << 20};
  CU_ASSERT_EQUAL(ws_fiber_push(fiber.pool, func, arg, &fiber.group, &options), 0);
}

static void begin_fiber(void)
{
  fiber.pool = test_pool(1);
  test_gate_init(&fiber.stand.gate);
  ws_group_init(&fiber.group, 3);
  ws_cancel_init(&fiber.token);
  ws_sem_init(&fiber.sem, 0);
  ws_sem_init(&fiber.of_fiber, 0);
  fiber.mutex = fiber.of_cond = (ws_mutex_t)WS_MUTEX_INIT;
  fiber.cond = (ws_cond_t)WS_COND_INIT;
  ws_latch_init(&fiber.latch, 1);
  fiber.gate = (ws_gate_t)WS_GATE_INIT;
  ws_barrier_init(&fiber.two, 2);
  ws_barrier_init(&fiber.three, 3);
  CU_ASSERT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fiber.ends), 0);
  ws_mutex_lock(&fiber.mutex);
  for (intptr_t what = 0; what < WAITS; what++)
    test_spawn(&fiber.waits, wait_in, (void *)what);
  push_waiting(wait_as_fiber, NULL);
  push_waiting(read_as_fiber, NULL);
  CU_ASSERT_TRUE(await_parked(2));
  push_waiting(stand_task, &fiber.stand);
  CU_ASSERT_TRUE(test_gate_await(&fiber.stand.gate, 1));
}

static void end_fiber(void)
{
  ws_cancel_request(&fiber.token);
  ws_mutex_unlock(&fiber.mutex);
  test_gate_let(&fiber.stand.gate, 1);
  test_join(&fiber.waits);
  ws_group_wait(&fiber.group, fiber.pool);
  test_destroy(fiber.pool);
  close(fiber.ends[0]);
  close(fiber.ends[1]);
}

static uint64_t request(void)
{
  ws_cancel_request(&fiber.token);
  return parked();
}

static int wait_cancelled(void)
{
  ws_cancel_use(&fiber.token);
  ws_cancel_request(&fiber.token);
  ws_mutex_lock(&fiber.of_cond);
  return ws_cond_wait(&fiber.cond, &fiber.of_cond);
}

static int wait_until_past(void)
{
  ws_mutex_lock(&fiber.of_cond);
  return ws_cond_wait_until(&fiber.cond, &fiber.of_cond, PAST);
}

static bool signalled(void (*signal_of)(ws_cond_t *cond))
{
  signal_of(&fiber.cond);
  return ws_mutex_trylock(&fiber.of_cond);
}

static int64_t write_and_read(bool reads)
{
  int own[2];
  char byte;
  socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, own);
  const int64_t written = ws_fd_write(own[1], "x", 1, WS_SYNC_NO_DEADLINE);
  return reads ? ws_fd_read(own[0], &byte, 1, WS_SYNC_NO_DEADLINE) : written;
}

static int accept_none(void)
{
  const struct sockaddr_un unnamed = {.sun_family = AF_UNIX}; // the kernel chooses an abstract name
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  bind(listening, (const struct sockaddr *)&unnamed, offsetof(struct sockaddr_un, sun_path));
  listen(listening, 1);
  return ws_fd_accept(listening, test_now_ns() + SOON_NS);
}

enum { FIBERS = 20 };

static void sleep_and_read(void *end)
{
  char byte;
  if (ws_sleep_ns(100000) == 0)
    ws_fd_read(*(int *)end, &byte, 1, WS_SYNC_NO_DEADLINE);
}

/// In a pool of the child. @return bytes that its fibers have not read
static int64_t sleep_and_read_all(void)
{
  static const char bytes[FIBERS];
  int own[2];
  char left;
  ws_group_t done;
  ws_pool_t *pool = test_pool(2);
  socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, own);
  ws_group_init(&done, FIBERS);
  for (uint32_t i = 0; i < FIBERS; i++)
    ws_fiber_push(pool, sleep_and_read, &own[0], &done, NULL);
  ws_fd_write(own[1], bytes, FIBERS, WS_SYNC_NO_DEADLINE);
  ws_group_wait(&done, pool);
  test_destroy(pool);
  return ws_fd_read(own[0], &left, 1, PAST) == -ETIMEDOUT ? 0 : 1;
}

static bool handler_uses_fibers;
static int64_t left_by_handler = -1;

/// Of the program, in the child.
static void use_fibers_in_handler(void)
{
  if (handler_uses_fibers)
    left_by_handler = sleep_and_read_all();
}

static int look_at_handler(void *unused)
{
  return left_by_handler == 0 ? ROW_RIGHT : ROW_WRONG;
}

static void wait_for_parents(void *group_and_pool)
{
  void *const *both = group_and_pool;
  ws_group_wait(both[0], both[1]);
}

/// In a fiber of the child.
static int wait_in_fiber(void)
{
  ws_group_t done;
  void *both[] = {&fiber.group, fiber.pool};
  ws_pool_t *own = test_pool(1);
  ws_group_init(&done, 1);
  ws_fiber_push(own, wait_for_parents, both, &done, NULL);
  ws_group_wait(&done, NULL);
  return 0;
}

static void try_locks(void)
{
  RETURNS(ws_mutex_lock, (ws_mutex_unlock(&fiber.mutex), ws_mutex_lock(&fiber.mutex), 0), 0);
  RETURNS(ws_mutex_unlock, (ws_mutex_unlock(&fiber.mutex), ws_mutex_trylock(&fiber.mutex)), true);
  RETURNS(ws_mutex_trylock, ws_mutex_trylock(&fiber.mutex), false);
  RETURNS(ws_mutex_lock_until, ws_mutex_lock_until(&fiber.mutex, PAST), -ETIMEDOUT);
  RETURNS(ws_cond_wait, wait_cancelled(), -ECANCELED);
  RETURNS(ws_cond_wait_until, wait_until_past(), -ETIMEDOUT);
  RETURNS(ws_cond_signal, signalled(ws_cond_signal), true);
  RETURNS(ws_cond_broadcast, signalled(ws_cond_broadcast), true);
}

static void try_counts(void)
{
  RETURNS(ws_sem_wait, (ws_sem_post(&fiber.sem, 1), ws_sem_wait(&fiber.sem)), 0);
  RETURNS(ws_sem_post, (ws_sem_post(&fiber.sem, 1), ws_sem_trywait(&fiber.sem)), true);
  RETURNS(ws_sem_trywait, ws_sem_trywait(&fiber.sem), false);
  RETURNS(ws_sem_wait_until, ws_sem_wait_until(&fiber.sem, PAST), -ETIMEDOUT);
  RETURNS(ws_latch_wait, (ws_latch_count_down(&fiber.latch, 1), ws_latch_wait(&fiber.latch)), 0);
  RETURNS(ws_latch_count_down, (ws_latch_count_down(&fiber.latch, 1), ws_latch_try(&fiber.latch)), true);
  RETURNS(ws_latch_wait_until, ws_latch_wait_until(&fiber.latch, PAST), -ETIMEDOUT);
  RETURNS(ws_gate_wait, (ws_gate_open(&fiber.gate), ws_gate_wait(&fiber.gate)), 0);
  RETURNS(ws_gate_open, (ws_gate_open(&fiber.gate), ws_gate_is_open(&fiber.gate)), true);
  RETURNS(ws_gate_wait_until, ws_gate_wait_until(&fiber.gate, PAST), -ETIMEDOUT);
  RETURNS(ws_barrier_wait, ws_barrier_wait(&fiber.two), 1); // the parent's thread has arrived
  RETURNS(ws_barrier_wait_until, ws_barrier_wait_until(&fiber.three, PAST), -ETIMEDOUT);
}

static void try_fiber(void)
{
  try_locks();
  try_counts();
  RETURNS(ws_cancel_request, request(), 0);
  RETURNS(ws_sleep_ns, ws_sleep_ns(1000), 0);
  RETURNS(ws_sleep_until, ws_sleep_until(test_now_ns() + 1000), 0);
  RETURNS(ws_fd_read, write_and_read(true), 1);
  RETURNS(ws_fd_write, write_and_read(false), 1);
  RETURNS(ws_fd_accept, accept_none(), -ETIMEDOUT);
  RETURNS(ws_fd_wait_until, ws_fd_wait_until(fiber.ends[0], POLLIN, test_now_ns() + SOON_NS), -ETIMEDOUT);
  RETURNS(ws_fiber_push, ws_fiber_push(fiber.pool, test_empty_task, NULL, NULL, NULL), -ESRCH);
  RETURNS(ws_fiber_push, sleep_and_read_all(), 0);
  RETURNS(ws_fiber_stats_sized, parked(), 0);
  RETURNS(ws_yield, ws_yield(), false);
  RETURNS(ws_yield_sometimes, ws_yield_sometimes(), false);
  ENDS(ws_group_wait, wait_in_fiber());
}

#endif
