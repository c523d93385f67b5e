// SPDX-License-Identifier: BSD-3-Clause
/// @file threads.h
/// The threads that run tasks, as the tasks see them: who is the producer, how many tasks each has run.
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#define THREADS_MAX 2048

/// One thread's counter, on its own cache line; written by its thread only.
typedef struct {
  _Alignas(64) uint64_t run_tasks;
  bool worker;
  bool realtime; ///< when it ran its first task
} thread_slot_t;

extern _Thread_local thread_slot_t *thread_slot_self; ///< NULL until the thread's first task

/// @brief Give the calling thread a slot. More than THREADS_MAX threads end the process with a message.
thread_slot_t *thread_slot_claim(void);

static inline thread_slot_t *thread_slot(void)
{
  return thread_slot_self ? thread_slot_self : thread_slot_claim();
}

/// @brief Count a task as run by the calling thread.
static inline void thread_count_task(void)
{
  thread_slot()->run_tasks++;
}

/// @brief Mark the calling thread as the producer; call it before the first task.
void threads_set_producer(void);

/// @brief Sum over all threads; call it after a join.
uint64_t threads_run_tasks(void);

/// @return number of workers that have run a task; @p realtime of them are in a real-time class
uint32_t threads_workers_seen(uint32_t *realtime);

#endif
