// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fd.c
/// Waits for descriptors: accept, bad input. What they promise besides are scenes
/// (tests/scenes/sync_fd.c).
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../../include/ws_fd.h"
#include "../fiber/fiber_scene.h"

#define NEVER WS_SYNC_NO_DEADLINE

static int ends[2]; ///< of a socket pair, both with O_NONBLOCK

static void begin(uint32_t workers)
{
  scene_begin(workers);
  CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
}

static void end(void)
{
  close(ends[0]);
  close(ends[1]);
  CU_ASSERT_EQUAL(parked(), 0);
  scene_end();
}

static void send_byte(int fd)
{
  CU_ASSERT_EQUAL(write(fd, "x", 1), 1);
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

TEST_CASE(test_accept)
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

/// The pool's threads open files now and then, which get the lowest free number: none gets one from here on.
#define UNUSED_FD 200

static void check_bad_input(void *unused)
{
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
TEST_CASE(test_bad_input)
{
  begin(1);
  push_fiber(check_bad_input, NULL, NULL);
  ws_pool_wait(scene.pool);
  test_push(scene.pool, check_bad_input, NULL, NULL);
  ws_pool_wait(scene.pool);
  test_in_threads(1, check_bad_input_by_thread, NULL);
  end();
}

/// In a child, which has no reactor yet. @return 2 = the library takes no descriptor of the program's
static int wait_without_stdin(void *unused)
{
  (void)unused;
  int empty[2];
  const bool made = pipe(empty) == 0 && close(0) == 0;
  const int64_t result = ws_fd_wait_until(empty[0], POLLIN, test_now_ns() + 1000000);
  return made && result == -ETIMEDOUT && fcntl(0, F_GETFD) < 0 ? 2 : 1;
}

TEST_CASE(descriptors_of_the_program_stay_free)
{
  TEST_SKIP_IF(TEST_SANITIZED, "a sanitizer"); // TSan lets a child start no thread
  CU_ASSERT_EQUAL(test_in_child(wait_without_stdin, NULL), 2);
}

TEST_MAIN("fd")
