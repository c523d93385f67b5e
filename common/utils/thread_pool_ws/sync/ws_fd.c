// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fd.c
/// ws_fd.h. A wake is a hint: each wait looks at its descriptor with poll() before and after. So a descriptor
/// that is used anew, or another wait's event, can only cause one look too many.
#define _GNU_SOURCE // accept4, POLLRDHUP
#include "../include/ws_fd.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h> // IWYU pragma: keep, for a static assertion: the tool does not look there
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "../fiber/ws_lot.h"
#include "../fiber/ws_reactor.h"

#define EVENTS ((uint32_t)(POLLIN | POLLPRI | POLLOUT | POLLRDHUP))

_Static_assert(POLLIN == EPOLLIN && POLLPRI == EPOLLPRI && POLLOUT == EPOLLOUT && POLLRDHUP == EPOLLRDHUP,
               "poll() and epoll have the same bits");

typedef struct {
  uint32_t events; ///< first: for ws_lot_bits()
  int fd, error;
} want_t;

// System calls in functions of their own: the compiler may keep errno's address within a function, and a
// fiber that waits may change the thread.
#define OWN_FRAME __attribute__((noinline))

/// @return events that are ready, 0 = none; -errno
OWN_FRAME static int look(int fd, uint32_t events)
{
  struct pollfd one = {.fd = fd, .events = (short)events};
  int count;
  do
    count = poll(&one, 1, 0);
  while (count < 0 && errno == EINTR);
  if (count < 0)
    return -errno;
  return one.revents & POLLNVAL ? -EBADF : one.revents;
}

/// Under the lock of the bucket. An event disarms the descriptor for all waits, so each arms it for all.
OWN_FRAME static bool arm(void *want_arg)
{
  want_t *want = want_arg;
  want->error = ws_reactor_arm(want->fd, want->events | ws_lot_bits(ws_reactor_address(want->fd)));
  return want->error == 0;
}

int ws_fd_wait_until(int fd, uint32_t events, uint64_t deadline_ns)
{
  if (events == 0 || (events & ~EVENTS) != 0)
    return -EINVAL;
  if (fd < 0)
    return -EBADF;
  for (;;) {
    int result = look(fd, events);
    if (result != 0)
      return result;
    result = ws_reactor_begin();
    if (result != 0)
      return result;
    want_t want = {.events = events, .fd = fd};
    result = ws_lot_park(ws_reactor_address(fd), arm, &want, deadline_ns, true);
    if (result != 0)
      return result == -EAGAIN ? want.error : result;
  }
}

OWN_FRAME static int64_t try_read(int fd, void *data, size_t bytes)
{
  const ssize_t result = read(fd, data, bytes);
  return result < 0 ? -errno : result;
}

OWN_FRAME static int64_t try_write(int fd, const void *data, size_t bytes)
{
  const ssize_t result = write(fd, data, bytes);
  return result < 0 ? -errno : result;
}

OWN_FRAME static int try_accept(int fd)
{
  const int result = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return result < 0 ? -errno : result;
}

/// @return whether to call again: a signal came, or the call would have blocked and the descriptor is ready
static bool is_ready_after(int64_t *result, int fd, uint32_t events, uint64_t deadline_ns)
{
  if (*result == -EINTR)
    return true;
  if (*result != -EAGAIN)
    return false;
  *result = ws_fd_wait_until(fd, events, deadline_ns);
  return *result > 0;
}

int64_t ws_fd_read(int fd, void *data, size_t bytes, uint64_t deadline_ns)
{
  int64_t result;
  do
    result = try_read(fd, data, bytes);
  while (is_ready_after(&result, fd, POLLIN, deadline_ns));
  return result;
}

int64_t ws_fd_write(int fd, const void *data, size_t bytes, uint64_t deadline_ns)
{
  int64_t result;
  do
    result = try_write(fd, data, bytes);
  while (is_ready_after(&result, fd, POLLOUT, deadline_ns));
  return result;
}

int ws_fd_accept(int fd, uint64_t deadline_ns)
{
  int64_t result;
  do
    result = try_accept(fd);
  while (is_ready_after(&result, fd, POLLIN, deadline_ns));
  return (int)result;
}
