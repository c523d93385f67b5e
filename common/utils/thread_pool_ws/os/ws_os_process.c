// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_process.c
/// ws_os.h: the lock of the process for which forks wait, while a thread of the pool holds a lock of the C
/// library that the child needs, or has something half done.
#include "ws_os.h"

/// In glibc 2.36 pthread_create(), pthread_getattr_default_np() and dl_iterate_phdr() take locks that stay
/// taken in the child.
static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;

void ws_os_fork_hold(void)
{
  pthread_mutex_lock(&forks);
}

void ws_os_fork_let(void)
{
  pthread_mutex_unlock(&forks);
}
