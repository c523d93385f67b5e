// SPDX-License-Identifier: BSD-3-Clause
/// @file host_threads.h
/// What the stand-in of threadCreate() was asked for, call by call, for tests to look at.
#ifndef WS_HOST_THREADS_H
#define WS_HOST_THREADS_H

#include <pthread.h>
#include <stdint.h>

#define HOST_THREADS_MAX 2048
#define HOST_NAME_SIZE 64

typedef struct {
  pthread_t thread;
  char name[HOST_NAME_SIZE];
  int affinity;
  int priority;
} host_thread_t;

/// @return calls so far; the pool may still be making threads only while its init has not returned
uint32_t host_threads_count(void);
/// @param i  below host_threads_count()
host_thread_t host_thread(uint32_t i);

#endif
