// SPDX-License-Identifier: BSD-3-Clause
/// @file pthread_utils.h
/// Stand-in for the host's checked locks. The macros take objects, not their addresses.
#ifndef PTHREAD_UTILS_H
#define PTHREAD_UTILS_H

#include <pthread.h>

#include "assertions.h"

#define WS_HOST_CHECKED(call)                                                                                \
  do {                                                                                                       \
    const int host_rc = (call);                                                                              \
    AssertFatal(host_rc == 0, "rc = %d", host_rc);                                                           \
  } while (0)

#define mutexinit(mutex) WS_HOST_CHECKED(pthread_mutex_init(&(mutex), NULL))
#define mutexlock(mutex) WS_HOST_CHECKED(pthread_mutex_lock(&(mutex)))
#define mutextrylock(mutex) pthread_mutex_trylock(&(mutex))
#define mutexunlock(mutex) WS_HOST_CHECKED(pthread_mutex_unlock(&(mutex)))
#define condinit(cond) WS_HOST_CHECKED(pthread_cond_init(&(cond), NULL))
#define condwait(cond, mutex) WS_HOST_CHECKED(pthread_cond_wait(&(cond), &(mutex)))
#define condsignal(cond) WS_HOST_CHECKED(pthread_cond_signal(&(cond)))
#define condbroadcast(cond) WS_HOST_CHECKED(pthread_cond_broadcast(&(cond)))

#endif
