// SPDX-License-Identifier: BSD-3-Clause
/// @file fd_scene.h
/// What the tests of waits for descriptors share: a socket pair.
#ifndef FD_SCENE_H
#define FD_SCENE_H

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../include/ws_fd.h"
#include "../fiber/fiber_scene.h"

#define NEVER WS_SYNC_NO_DEADLINE

static int ends[2]; ///< of a socket pair, both with O_NONBLOCK

static inline void begin(uint32_t workers)
{
  scene_begin(workers);
  CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
}

static inline void end(void)
{
  close(ends[0]);
  close(ends[1]);
  CU_ASSERT_EQUAL(parked(), 0);
  scene_end();
}

static inline void send_byte(int fd)
{
  CU_ASSERT_EQUAL(write(fd, "x", 1), 1);
}

#endif
