// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_record.h
/// A record for each task: each runs exactly once, and what waited for it returns after its end.
#ifndef SIM_RECORD_H
#define SIM_RECORD_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "sim_scenario.h" // IWYU pragma: export
#include "sim_thread.h" // IWYU pragma: export

#define SIM_RECORDS_MAX 16384u
#define SIM_RECORD_NONE UINT32_MAX

/// FREE --> PUSHING --accepted--> PUSHED --> RUNNING --> DONE, and PUSHING --> RUNNING --> DONE
///          PUSHING --refused--> REFUSED
typedef enum {
  SIM_RECORD_FREE,
  SIM_RECORD_PUSHING,
  SIM_RECORD_PUSHED,
  SIM_RECORD_RUNNING,
  SIM_RECORD_DONE,
  SIM_RECORD_REFUSED
} sim_record_state_t;

typedef struct sim_record_s sim_record_t;
struct sim_record_s {
  sim_record_state_t state;
  bool accepted;
  uint32_t pool; ///< index
  uint32_t depth; ///< of the tasks that it may push still
  uint32_t done; ///< futex: 1 = it has ended
  const sim_burst_t *burst;
  void *goal; ///< that it completes itself; NULL = none
  uint32_t carried; ///< number of the goal that it belongs to; 0 = none
  void *waits_for; ///< a goal of tasks that were pushed before it
  const sim_record_t *parent; ///< the task that pushed it; NULL = none
  ws_task_t task; ///< that was pushed
};

extern sim_record_t sim_record[SIM_RECORDS_MAX];
extern uint32_t sim_records; ///< in use
/// Tasks of each pool that have begun so far.
extern uint64_t sim_record_begun[SIM_POOLS_MAX];
/// Times that a task of each pool was queued again because it yielded.
extern uint64_t sim_record_yields[SIM_POOLS_MAX];
/// Each pool: it is being aborted, so that tasks may be skipped.
extern bool sim_record_aborting[SIM_POOLS_MAX];

/// @return the first of @p count records that follow each other, of tasks like @p like that the running
/// task pushes; SIM_RECORD_NONE: there are none left
uint32_t sim_record_take(const sim_record_t *like, uint32_t count);

/// @brief The pool's answer to the push of a task.
void sim_record_answer(sim_record_t *record, bool accepted);

void sim_record_begin(sim_record_t *record);
void sim_record_end(sim_record_t *record);

/// @brief A thread has waited for these, by @p how: all of them have run.
void sim_record_check(uint32_t first, uint32_t count, const char *how);

/// @brief A pool has stopped, and everything that pushed to it has ended. @param counted  tasks that the pool
/// says that it ran, yields not counted; @param skipped  that it skipped
void sim_record_check_pool(uint32_t pool, uint64_t counted, uint64_t skipped);

/// @brief The pools are gone: the next ones begin.
void sim_record_next_round(void);

// What each thread is in the middle of: tasks that it runs inside each other, and waits. A thread that
// waits for a group runs tasks of that group, and tasks that those have pushed, never an unrelated task.

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
