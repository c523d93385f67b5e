// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans.h
/// OAI's join counter (shapes B2, B2+) on a join group. Found before OAI's own header of this path; has the
/// same include guard, and includes the headers that callers expect. Semantics: shim/README.md.
#ifndef TASK_ANSWER_THREAD_POOL_H
#define TASK_ANSWER_THREAD_POOL_H

#ifdef __cplusplus
#include <atomic>
#ifndef _Atomic
#define _Atomic(X) std::atomic<X>
#endif
#define _Alignas(X) alignas(X)
#else
#include <stdalign.h>
#include <stdatomic.h>
#endif
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

#include "common/utils/threadPool/pthread_utils.h"

#define LEVEL1_DCACHE_LINESIZE 64

#ifdef __cplusplus
extern "C" {
#endif

/// May live anywhere, also on the caller's stack: no thread touches it after the join. Need not be freed.
typedef struct {
  const void *outer_group; ///< what its thread had armed before
  struct ws_tpool_s *outer_tpool; ///< and where it had pushed for that
  char pad_before[LEVEL1_DCACHE_LINESIZE - 2 * sizeof(void *)]; ///< every task writes the word: off its line
  uint32_t word; ///< a ws_group_t
  char pad_after[LEVEL1_DCACHE_LINESIZE - sizeof(uint32_t)];
} task_ans_t;

/// OAI's callers pass their jobs' answers in it.
typedef struct {
  uint8_t *buf;
  size_t len;
  size_t cap;
  task_ans_t *ans;
} thread_info_tm_t;

/// @brief Arm for @p num_jobs completions. The join runs tasks that the calling thread pushes from now on,
/// until it arms another answer or joins this one.
void init_task_ans(task_ans_t *ans, unsigned int num_jobs);

/// @brief Wait for the completions; run tasks of this group meanwhile. The caller sees what all completers
/// wrote.
void join_task_ans(task_ans_t *ans);

/// @brief Complete @p num_completed_jobs. Any thread.
void completed_many_task_ans(task_ans_t *ans, unsigned int num_completed_jobs);

static inline void completed_task_ans(task_ans_t *ans)
{
  completed_many_task_ans(ans, 1);
}

#ifdef __cplusplus
}
#endif

#endif
