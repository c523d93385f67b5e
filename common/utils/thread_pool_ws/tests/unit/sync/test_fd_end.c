// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fd_end.c
/// How waits for descriptors end: bad input, time limits, cancels. In fibers, tasks and threads. Linked with
/// --wrap=ws_lot_enter: waits of threads are counted; and with --wrap=epoll_create1 and
/// --wrap=ws_os_thread_create: resources run out when the test says so.
#define _GNU_SOURCE // SOCK_NONBLOCK
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_lot.h"
#include "../../support/ws_death.h"
#include "../../support/ws_seam.h"
#include "fd_scene.h"

static ws_au32_t entered_by_threads;
static ws_cancel_t cancel;
static bool no_descriptor, no_thread; ///< main thread only

static bool ws_lot_enter_seam(ws_waiter_t *waiter)
{
  const bool is_thread = !waiter->fiber;
  const bool entered = __real_ws_lot_enter(waiter);
  if (is_thread && entered)
    ws_add_acq_rel(&entered_by_threads, 1);
  return entered;
}

static int epoll_create1_seam(int flags)
{
  errno = EMFILE;
  return no_descriptor ? -1 : __real_epoll_create1(flags);
}

static int ws_os_thread_create_seam(pthread_t *thread, void *(*func)(void *arg), void *arg)
{
  return no_thread ? EAGAIN : __real_ws_os_thread_create(thread, func, arg);
}

/// Without resources a wait fails, and a later one works. Nothing has been made in this process.
static void test_no_resources(void)
{
  begin(1);
  no_descriptor = true;
  CU_ASSERT_EQUAL(ws_fd_wait_until(ends[0], POLLIN, NEVER), -EMFILE);
  no_descriptor = false;
  no_thread = true;
  CU_ASSERT_EQUAL(ws_fd_wait_until(ends[0], POLLIN, NEVER), -EAGAIN);
  no_thread = false;
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_fiber_process.reactor), 0);
  CU_ASSERT_EQUAL(ws_fd_wait_until(ends[0], POLLOUT, NEVER), POLLOUT); // ready: needs nothing
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_fiber_process.reactor), 0);
  CU_ASSERT_EQUAL(ws_fd_wait_until(ends[0], POLLIN, 0), -ETIMEDOUT);
  CU_ASSERT(ws_load_relaxed(&ws_fiber_process.reactor) != 0);
  end();
}

/// The pool's threads open files now and then, which get the lowest free number: none gets one from here on.
#define UNUSED_FD 200

static void check_bad_input(void *unused)
{
  (void)unused;
  char byte;
  FILE *file = tmpfile();
  const int regular = fileno(file), closed = fcntl(regular, F_DUPFD, UNUSED_FD);
  close(closed);
  note(ws_fd_wait_until(ends[0], 0, NEVER) == -EINVAL);
  note(ws_fd_wait_until(ends[0], POLLIN | POLLNVAL, NEVER) == -EINVAL);
  note(ws_fd_wait_until(ends[0], UINT32_C(1) << 31, NEVER) == -EINVAL);
  note(ws_fd_wait_until(-1, POLLIN, NEVER) == -EBADF);
  note(ws_fd_wait_until(closed, POLLIN, NEVER) == -EBADF);
  note(ws_fd_read(closed, &byte, 1, NEVER) == -EBADF);
  note(ws_fd_write(closed, &byte, 1, NEVER) == -EBADF);
  note(ws_fd_accept(regular, NEVER) == -ENOTSOCK);
  note(ws_fd_wait_until(regular, POLLIN, NEVER) == POLLIN);
  note(ws_fd_wait_until(regular, POLLIN | POLLOUT, NEVER) == (POLLIN | POLLOUT));
  note(ws_fd_wait_until(regular, POLLPRI, NEVER) == -EPERM);
  note(ws_fd_write(regular, "y", 1, NEVER) == 1 && ws_fd_read(regular, &byte, 1, NEVER) == 0);
  fclose(file);
}

static void *check_bad_input_by_thread(void *unused)
{
  check_bad_input(unused);
  return NULL;
}

/// Bad descriptors, bad events, regular files: in a fiber, a task and a thread.
static void test_bad_input(void)
{
  begin(1);
  push_fiber(check_bad_input, NULL, NULL);
  ws_pool_wait(scene.pool);
  test_push(scene.pool, check_bad_input, NULL, NULL);
  ws_pool_wait(scene.pool);
  test_threads_t threads = {0};
  test_spawn(&threads, check_bad_input_by_thread, NULL);
  test_join(&threads);
  end();
}

static uint64_t deadline_ns;
static int wanted; ///< result of the waits

static void wait_to_read(void *unused)
{
  (void)unused;
  ws_cancel_t *before = ws_cancel_use(&cancel);
  note(ws_fd_wait_until(ends[0], POLLIN, deadline_ns) == wanted);
  ws_cancel_use(before);
  ws_add_relaxed(&scene.value, 1);
}

static void *wait_to_read_by_thread(void *unused)
{
  wait_to_read(unused);
  return NULL;
}

static bool two_threads_wait(void *unused)
{
  (void)unused;
  return ws_load_acquire(&entered_by_threads) == 2;
}

/// Have a fiber, a task and a thread wait for one descriptor, end their waits by @p how, check the results.
static void end_three(void (*how)(void), int result, uint64_t until_ns)
{
  begin(3);
  ws_cancel_init(&cancel);
  ws_store_relaxed(&entered_by_threads, 0);
  wanted = result;
  deadline_ns = until_ns;
  test_threads_t threads = {0};
  push_fiber(wait_to_read, NULL, NULL);
  test_push(scene.pool, wait_to_read, NULL, NULL);
  test_spawn(&threads, wait_to_read_by_thread, NULL);
  if (how) {
    CU_ASSERT(await_parked(1));
    CU_ASSERT(test_until(two_threads_wait, NULL));
    how();
  }
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 3);
  CU_ASSERT_PTR_NULL(cancel.waiters);
  end();
}

static void send_one(void)
{
  send_byte(ends[1]);
}

static void request(void)
{
  ws_cancel_request(&cancel);
}

static void hang_up(void)
{
  shutdown(ends[1], SHUT_RDWR);
}

static void test_ends(void)
{
  end_three(send_one, POLLIN, NEVER);
  end_three(request, -ECANCELED, NEVER);
  end_three(hang_up, POLLIN | POLLHUP, NEVER);
  end_three(NULL, -ETIMEDOUT, 0);
  end_three(NULL, -ETIMEDOUT, ws_os_now_ns() + 1000000);
}

/// The abort of a pool ends the wait of its fiber.
static void test_abort(void)
{
  begin(1);
  ws_cancel_init(&cancel);
  wanted = -ECANCELED;
  deadline_ns = NEVER;
  push_fiber(wait_to_read, NULL, NULL);
  CU_ASSERT(await_parked(1));
  ws_pool_stop(scene.pool, WS_STOP_ABORT);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 1);
  end();
}

/// Close the descriptor of ws_fd.h, and have its thread use it.
static void close_all(void)
{
  begin(1);
  ws_cancel_init(&cancel);
  wanted = POLLIN;
  deadline_ns = NEVER;
  push_fiber(wait_to_read, NULL, NULL);
  await_parked(1);
  // not close(): ThreadSanitizer would report the misuse first
  syscall(SYS_close, (int)ws_load_relaxed(&ws_fiber_process.reactor) - 1);
  send_byte(ends[1]);
  ws_pool_wait(scene.pool);
  pause(); // its thread ends the process
}

/// The first case: ThreadSanitizer lets a child make threads only if its parent has none.
static void test_closed(void)
{
  CU_ASSERT(dies_with(close_all, "ws_fd_wait_until(): the program has closed descriptor"));
}

static void test_seams(void)
{
  seam.ws_lot_enter = ws_lot_enter_seam;
  seam.epoll_create1 = epoll_create1_seam;
  seam.ws_os_thread_create = ws_os_thread_create_seam;
}

TEST_MAIN_SEAMS(test_seams, "fd_end", TEST_CASE(test_closed), TEST_CASE(test_no_resources),
                TEST_CASE(test_bad_input), TEST_CASE(test_ends), TEST_CASE(test_abort))
