// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fd.h
/// Waits for file descriptors (pipes, sockets, terminals, timers), in the library thread_pool_ws_fiber.
/// Fibers, tasks and threads may call them, as the waits of ws_sync.h. A fiber that waits lets its worker run
/// other tasks.
///
/// @code
///   static void count(void *fd) // a fiber
///   {
///     char text[512];
///     int64_t bytes, sum = 0;
///     while ((bytes = ws_fd_read(*(const int *)fd, text, sizeof text, WS_SYNC_NO_DEADLINE)) > 0)
///       sum += bytes;
///     printf("%" PRId64 " bytes, then: %s\n", sum, strerror((int)-bytes));
///   }
/// @endcode
///
/// One thread for the process waits for all descriptors, with epoll. It is made, and one descriptor opened
/// (close-on-exec), at the first wait for a descriptor that is not ready; both last as long as the process. A
/// program that closes descriptors which it did not open must leave that one open: the process ends with a
/// message otherwise. The class of that thread: ws_fiber.h. A thread that waits outside fibers raises it with
/// its own priority, as a pool does; a warning then goes to stderr.
///
/// Several waits for one descriptor are allowed, for the same events or for others, such as one to read and
/// one to write. An event wakes all of them: those that are not ready wait again. So the time of an event
/// grows with the number of waits for its descriptor.
/// A descriptor must not be closed while there is a wait for it: as with epoll, that wait is not woken. End
/// the wait first: by a time limit, a cancel, or shutdown() of a socket.
/// @p deadline_ns is a time of CLOCK_MONOTONIC in ns; WS_SYNC_NO_DEADLINE = none. A deadline in the past ends
/// the wait after one look at the descriptor.
/// @threads all functions: any, several at once; not from signal handlers
#ifndef WS_FD_H
#define WS_FD_H

#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "ws_sync.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// @brief Wait until the descriptor is ready.
/// @param events  of poll(): POLLIN, POLLPRI, POLLOUT, POLLRDHUP, or several
/// @return those of @p events that are ready, and POLLERR and POLLHUP: above 0. A regular file is
///         ready to read and write. Otherwise
///         -EINVAL     @p events is 0 or has other bits
///         -EBADF      @p fd is not open
///         -ETIMEDOUT  the deadline is over
///         -ECANCELED  as the waits of ws_sync.h
///         -EPERM      the file cannot be waited for: POLLPRI or POLLRDHUP of a regular file
///         -EMFILE, -ENFILE, -ENOMEM, -ENOSPC   no resources in the kernel: epoll_create1(), epoll_ctl()
///         -EAGAIN     the thread could not be made
/// @progress  one system call if the descriptor is ready; otherwise two more, one of them with a lock held
int ws_fd_wait_until(int fd, uint32_t events, uint64_t deadline_ns);

/// @brief read(), after a wait if there is nothing to read. @p fd must have O_NONBLOCK.
/// @return bytes read, 0 = the end; -errno of read(), or as ws_fd_wait_until()
int64_t ws_fd_read(int fd, void *data, size_t bytes, uint64_t deadline_ns);

/// @brief write(), after a wait if there is no room. @p fd must have O_NONBLOCK.
/// @return bytes written, maybe fewer than @p bytes; -errno of write(), or as ws_fd_wait_until()
int64_t ws_fd_write(int fd, const void *data, size_t bytes, uint64_t deadline_ns);

/// @brief accept(), after a wait if there is no connection. @p fd must have O_NONBLOCK.
/// @return a descriptor with O_NONBLOCK and close-on-exec; -errno of accept4(), or as ws_fd_wait_until()
int ws_fd_accept(int fd, uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
