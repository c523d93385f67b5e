// SPDX-License-Identifier: BSD-3-Clause
/// @file thread-pool.h
/// The model's own pool in the task shape: one queue with a lock, from which all threads take.
#ifndef THREAD_POOL_H
#define THREAD_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "assertions.h"
#include "common/utils/system.h"
#include "common/utils/time_meas.h"
#include "pthread_utils.h"
#include "task.h"

#define MODEL_OWN_POOL 1
#define MODEL_QUEUE_SIZE 1024

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  task_t queue[MODEL_QUEUE_SIZE];
  uint32_t head;
  uint32_t tail;
  bool stop;
  int len_thr;
  pthread_t *threads;
} tpool_t;

#ifdef __cplusplus
extern "C" {
#endif
void pushTpool(tpool_t *pool, task_t task);
void abortTpool(tpool_t *pool);
void initNamedTpool(char *params, tpool_t *pool, bool performanceMeas, char *name);
void initFloatingCoresTpool(int nbThreads, tpool_t *pool, bool performanceMeas, char *name);
#ifdef __cplusplus
}
#endif

#define initTpool(PARAMPTR, TPOOLPTR, MEASURFLAG) initNamedTpool(PARAMPTR, TPOOLPTR, MEASURFLAG, NULL)

#endif
