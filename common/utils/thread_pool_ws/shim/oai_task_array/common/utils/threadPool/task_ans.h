// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans.h
/// OAI's answers of shape B1: one flag a task, in an array that the caller zeroes. Found before OAI's own
/// header of this path; has the same include guard, and includes the headers that callers expect. Semantics:
/// shim/README.md.
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
#include <stddef.h>
#include <stdint.h>

#define LEVEL1_DCACHE_LINESIZE 64

#ifdef __cplusplus
extern "C" {
#endif

/// Zeroed by the caller before the task is pushed. May live on its stack: no thread touches it after the
/// join.
typedef struct {
  uint32_t status; ///< 0 not done, 1 done, 2 not done and a thread sleeps on it
  char pad[LEVEL1_DCACHE_LINESIZE - sizeof(uint32_t)];
} task_ans_t;

/// OAI's callers pass their jobs' answers in it.
typedef struct {
  uint8_t *buf;
  size_t len;
  size_t cap;
  task_ans_t *ans;
} thread_info_tm_t;

/// @brief Wait for @p len answers; a task that joins runs tasks meanwhile that its thread has pushed, except
/// those pushed inside other joins. The caller sees what all completers wrote.
void join_task_ans(task_ans_t *arr, size_t len);

/// @brief Complete one task. Any thread.
void completed_task_ans(task_ans_t *task);

#ifdef __cplusplus
}
#endif

#endif
