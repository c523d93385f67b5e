// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fd.c
/// Fibers that read, write and accept; several at one descriptor; many descriptors.
#define _GNU_SOURCE // SOCK_NONBLOCK
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "fd_scene.h"

#define PASSES 1000u

static void play(void *fd_arg)
{
  const int fd = *(const int *)fd_arg;
  for (uint32_t i = 0; i < PASSES; i++) {
    uint32_t ball = 0;
    note(ws_fd_read(fd, &ball, sizeof ball, NEVER) == (int64_t)sizeof ball);
    note(ball / 2 == i && ball % 2 == (fd == ends[1]));
    ball++;
    note(ws_fd_write(fd, &ball, sizeof ball, NEVER) == (int64_t)sizeof ball);
  }
  ws_add_relaxed(&scene.value, 1);
}

/// Two fibers on one worker pass a counted ball: each must wait for the other.
static void test_ping_pong(void)
{
  begin(1);
  uint32_t ball = 0;
  push_fiber(play, &ends[0], NULL);
  push_fiber(play, &ends[1], NULL);
  CU_ASSERT(await_parked(2));
  CU_ASSERT_EQUAL(write(ends[1], &ball, sizeof ball), sizeof ball); // to the player at ends[0]
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 2);
  CU_ASSERT_EQUAL(recv(ends[0], &ball, sizeof ball, 0), sizeof ball);
  CU_ASSERT_EQUAL(ball, 2 * PASSES);
  end();
}

static void wait_to_write(void *unused)
{
  (void)unused;
  note(ws_fd_wait_until(ends[0], POLLOUT, NEVER) == POLLOUT);
  write_letter('w');
}

static void wait_for_either(void *unused)
{
  (void)unused;
  note(ws_fd_wait_until(ends[0], POLLIN | POLLOUT, NEVER) == POLLOUT);
  write_letter('e');
}

static void read_one(void *unused)
{
  (void)unused;
  char byte;
  note(ws_fd_read(ends[0], &byte, 1, NEVER) == 1 && byte == 'x');
  write_letter('r');
}

static bool has_letters(void *count)
{
  return ws_load_acquire(&scene.letters) == *(const uint32_t *)count;
}

/// One fiber waits to read and others to write, at one descriptor: each event ends the waits that it is for.
static void share(bool reader_first)
{
  char bytes[4096] = {0};
  const uint32_t two = 2;
  begin(1);
  while (write(ends[0], bytes, sizeof bytes) > 0)
    ;
  if (reader_first)
    push_fiber(read_one, NULL, NULL);
  push_fiber(wait_to_write, NULL, NULL);
  push_fiber(wait_for_either, NULL, NULL);
  CU_ASSERT(await_parked(2 + reader_first));
  if (!reader_first)
    push_fiber(read_one, NULL, NULL);
  CU_ASSERT(await_parked(3));
  while (read(ends[1], bytes, sizeof bytes) > 0)
    ;
  CU_ASSERT(test_until(has_letters, (void *)(uintptr_t)&two));
  CU_ASSERT(await_parked(1)); // the reader waits again
  send_byte(ends[1]);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(scene.letter[2], 'r');
  end();
}

static void test_shared(void)
{
  share(true);
  share(false);
}

/// Readers of one descriptor: each byte is for one of them, the others wait again.
static void test_readers(void)
{
  enum { READERS = 5 };
  begin(2);
  for (uint32_t i = 0; i < READERS; i++)
    push_fiber(read_one, NULL, NULL);
  CU_ASSERT(await_parked(READERS));
  for (uint32_t i = 1; i <= READERS; i++) {
    send_byte(ends[1]);
    CU_ASSERT(test_until(has_letters, &i));
    CU_ASSERT(await_parked(READERS - i));
  }
  ws_pool_wait(scene.pool);
  end();
}

/// A descriptor's number is used again for another file: its first wait finds a registration that is gone.
static void test_number_again(void)
{
  for (uint32_t i = 0; i < 3; i++) {
    begin(1);
    push_fiber(read_one, NULL, NULL);
    CU_ASSERT(await_parked(1));
    send_byte(ends[1]);
    ws_pool_wait(scene.pool);
    end();
  }
}

#define MANY 400u

static int event_fd[MANY];
static ws_au32_t events_seen[MANY];

static void wait_for_event(void *fd_arg)
{
  const int *fd = fd_arg;
  uint64_t value = 0;
  note(ws_fd_wait_until(*fd, POLLIN, NEVER) == POLLIN);
  note(ws_fd_read(*fd, &value, sizeof value, 0) == (int64_t)sizeof value);
  ws_add_relaxed(&events_seen[fd - event_fd], (uint32_t)value);
}

/// @return descriptors of events, as many of MANY as the process may have
static uint32_t make_events(void)
{
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  uint32_t count = 0;
  while (count < MANY && (event_fd[count] = eventfd(0, EFD_NONBLOCK)) >= 0)
    ws_store_relaxed(&events_seen[count++], 0);
  return count;
}

/// Many fibers, each at a descriptor of its own; the events come in another order.
static void test_many(void)
{
  begin(2);
  const uint32_t count = make_events();
  CU_ASSERT_FATAL(count >= 200);
  for (uint32_t i = 0; i < count; i++)
    push_fiber(wait_for_event, &event_fd[i], NULL);
  CU_ASSERT(await_parked(count));
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t j = i * 7919 % count; // a prime number: each once
    const uint64_t value = j + 1, left = count - i - 1;
    CU_ASSERT_EQUAL(write(event_fd[j], &value, sizeof value), sizeof value);
    if (left % 20 == 0)
      CU_ASSERT(await_parked(left));
  }
  ws_pool_wait(scene.pool);
  for (uint32_t i = 0; i < count; i++) {
    CU_ASSERT_EQUAL(ws_load_relaxed(&events_seen[i]), i + 1);
    close(event_fd[i]);
  }
  end();
}

static void accept_one(void *listener)
{
  const int fd = ws_fd_accept(*(const int *)listener, NEVER);
  char byte;
  note(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
  note(ws_fd_read(fd, &byte, 1, NEVER) == 1 && byte == 'x');
  note(ws_fd_read(fd, &byte, 1, NEVER) == 0);
  close(fd);
}

static void test_accept(void)
{
  begin(1);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t bytes = sizeof address;
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  CU_ASSERT_EQUAL(bind(listener, (struct sockaddr *)&address, sizeof address.sun_family), 0); // any name
  CU_ASSERT_EQUAL(listen(listener, 1), 0);
  CU_ASSERT_EQUAL(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
  push_fiber(accept_one, &listener, NULL);
  CU_ASSERT(await_parked(1));
  CU_ASSERT_EQUAL(connect(client, (struct sockaddr *)&address, bytes), 0);
  send_byte(client);
  close(client);
  ws_pool_wait(scene.pool);
  close(listener);
  end();
}

TEST_MAIN("fd", TEST_CASE(test_ping_pong), TEST_CASE(test_shared), TEST_CASE(test_readers),
          TEST_CASE(test_number_again), TEST_CASE(test_many), TEST_CASE(test_accept))
