// SPDX-License-Identifier: BSD-3-Clause
/// @file thread-pool.h
/// OAI's task pool (shapes B1, B2, B2+) on the work-stealing pool. Found before OAI's own header of this
/// path; has the same include guard, and includes the headers that callers expect. task.h and pthread_utils.h
/// are OAI's. Semantics: shim/README.md.
#ifndef THREAD_POOL_H
#define THREAD_POOL_H

#ifdef __cplusplus
extern "C++" { // callers include this header inside extern "C"
#include <atomic>
}
#ifndef _Atomic // OAI's newest tree defines it in this header, too
#define _Atomic(X) std::atomic<X>
#endif
#endif
#include <malloc.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "assertions.h"
#include "common/utils/system.h"
#include "common/utils/threadPool/pthread_utils.h"
#include "common/utils/threadPool/task.h"
#include "common/utils/time_meas.h"

#ifdef DEBUG
#define THREADINIT PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#else
#define THREADINIT PTHREAD_MUTEX_INITIALIZER
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ws_tpool_s;

/// A handle. Zeroed memory is a pool without threads.
typedef struct {
  struct ws_tpool_s *ws;
  size_t len_thr; ///< read by callers: threads, from the init to the abort; 0 = a push runs its task
} tpool_t;

/// @brief Queue a task; without threads, run it now. Never blocks, unlimited. Any thread, tasks included.
void pushTpool(tpool_t *tpool, task_t task);

#ifdef WS_OAI_PUSH_BATCH // the tree's own header has it
/// @brief Push @p task; run it in the caller if it is the last one of its batch or @p tpool is NULL.
static inline void pushTpool_batch(tpool_t *tpool, task_t task, bool is_last)
{
  if (tpool && !is_last)
    pushTpool(tpool, task);
  else
    task.func(task.args);
}
#endif

/// @brief Run the queued tasks, end the threads, free the pool. One caller, not a task. A task that is pushed
/// later, or at the same time, runs at the latest inside its push.
void abortTpool(tpool_t *tpool);

/// @brief Start the threads that @p params names: comma-separated cores, -1 = float, n = none.
/// @param tpool            need not be initialised
/// @param performanceMeas  ignored
/// @param name             of the threads, NULL = "Tpool"
void initNamedTpool(char *params, tpool_t *tpool, bool performanceMeas, char *name);

/// @brief Start @p nbThreads threads that float; 0 = tasks run in the push.
void initFloatingCoresTpool(int nbThreads, tpool_t *tpool, bool performanceMeas, char *name);

/// @return 0 .. threads - 1 in a thread of a pool, -1 elsewhere (shape B2+)
int get_tpool_worker_index(void);

#ifdef __cplusplus
}
#endif

#define initTpool(PARAMPTR, TPOOLPTR, MEASURFLAG) initNamedTpool(PARAMPTR, TPOOLPTR, MEASURFLAG, NULL)

#endif
