// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_stack.h
/// What each thread is in the middle of: tasks that it runs inside each other, and waits. A thread that waits
/// for a group runs tasks of that group, and tasks that those have pushed, never an unrelated task.
#ifndef SIM_STACK_H
#define SIM_STACK_H

#include "sim_record.h"
#include "sim_thread.h"

typedef enum { SIM_IN_TASK, SIM_IN_PUSH, SIM_IN_WAIT, SIM_IN_AWAIT, SIM_IN_POOL_WAIT } sim_in_t;

/// One of those; lies on the thread's own stack.
typedef struct sim_frame_s sim_frame_t;
struct sim_frame_s {
  sim_in_t in;
  sim_record_t *record; ///< the task
  uint32_t goal; ///< waited for
  uint64_t until_ns; ///< the wait's time limit; 0 = none
  uint32_t late; ///< tasks that the wait has begun after it
  sim_frame_t *outer;
};

/// The running thread's innermost frame.
sim_frame_t **sim_stack(void);

/// @return the task that the running thread is in, the innermost; NULL = none
sim_record_t *sim_stack_task(void);

/// @return whether the running thread is inside a task of that pool
bool sim_stack_is_in(uint32_t pool);

/// @brief A task begins, inside what the thread is in the middle of: may it?
void sim_stack_check(const sim_record_t *record);

/// @return whether a thread has not come to the end of a push yet
bool sim_stack_pushes(const sim_thread_t *thread);

/// The running task sleeps for a time, and the pool cannot see it.
void sim_stack_hide(bool hidden);
/// @return whether a thread does
bool sim_stack_hides(const sim_thread_t *thread);

#endif
