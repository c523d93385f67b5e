// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_reactor.h
/// The thread that waits for file descriptors: one for the process, made at the first wait. It wakes the
/// waits for a descriptor, which are in the lot; LOT.md, "File descriptors".
#ifndef WS_REACTOR_H
#define WS_REACTOR_H

#include <stdint.h>

/// @return the address under which to wait for a descriptor. No object is waited for there: addresses of
/// objects are multiples of 4, or such a multiple + 1 (ws_lot_brief)
static inline const void *ws_reactor_address(int fd)
{
  return (const void *)(((uintptr_t)(unsigned int)fd << 2) | 2);
}

/// @brief Have the thread and its epoll instance made. @return 0 or -errno
int ws_reactor_begin(void);

/// @brief Have the next event of @p events unpark the waits for the descriptor, once. Under the lock of the
/// address's bucket, so that no event comes before the wait is in the lot. @return 0 or -errno
int ws_reactor_arm(int fd, uint32_t events);

#endif
