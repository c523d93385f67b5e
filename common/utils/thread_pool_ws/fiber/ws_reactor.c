// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_reactor.c
/// ws_reactor.h, with epoll. A descriptor stays registered, disarmed, until it is closed.
#include "ws_reactor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../base/ws_base.h"
#include "ws_fiber_process.h"
#include "ws_lot.h"

#define EVENTS_AT_ONCE 64

static void *run(void *epoll_arg)
{
  const int epoll = (int)(intptr_t)epoll_arg;
  struct epoll_event event[EVENTS_AT_ONCE];
  ws_service_enter("ws_reactor");
  for (;;) {
    const int count = epoll_wait(epoll, event, EVENTS_AT_ONCE, -1);
    if (count < 0 && errno != EINTR)
      ws_misuse("ws_fd_wait_until", "the program has closed descriptor %d, which belongs to ws_fd.h", epoll);
    for (int i = 0; i < count; i++)
      ws_lot_unpark(ws_reactor_address(event[i].data.fd), UINT32_MAX, NULL, NULL);
  }
  return NULL;
}

/// The caller holds the lock. @return 0 or -errno
static int start(void)
{
  const int made = epoll_create1(EPOLL_CLOEXEC);
  // 0, 1 and 2 are the program's: a daemon replaces them
  const int epoll =
      made >= 0 && made <= STDERR_FILENO ? fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : made;
  const int error = -errno;
  if (epoll != made)
    close(made);
  if (epoll < 0)
    return error;
  const int result = ws_service_start(&ws_fiber_process.reactor_thread, run, (void *)(intptr_t)epoll);
  if (result == 0)
    ws_store_release(&ws_fiber_process.reactor, (uint32_t)epoll + 1); // [edge REACTOR release] it exists
  else
    close(epoll);
  return result;
}

int ws_reactor_begin(void)
{
  ws_au32_t *reactor = &ws_fiber_process.reactor;
  ws_service_t *service = &ws_fiber_process.reactor_thread;
  const ws_fiber_t *fiber = ws_fiber_here();
  const uint32_t priority = ws_service_priority(fiber);
  // [edge REACTOR acquire] it exists
  if (ws_load_acquire(reactor) != 0 && !ws_service_must_rise(service, priority))
    return 0;
  ws_fiber_process_begin();
  pthread_mutex_lock(&ws_fiber_process.reactor_lock);
  const int result = ws_load_relaxed(reactor) != 0 ? 0 : start(); // relaxed: under the lock
  const int error = result == 0 ? ws_service_serve(service, priority) : 0;
  pthread_mutex_unlock(&ws_fiber_process.reactor_lock);
  ws_service_warn("ws_reactor", fiber, error);
  return result;
}

int ws_reactor_arm(int fd, uint32_t events)
{
  const int epoll = (int)ws_load_acquire(&ws_fiber_process.reactor) - 1; // [edge REACTOR acquire]
  struct epoll_event event = {.events = events | EPOLLONESHOT, .data.fd = fd};
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0)
    return 0;
  if (errno != ENOENT || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    return -errno;
  return 0;
}
