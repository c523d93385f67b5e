// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_record.h
/// A record for each task: each runs exactly once, and what waited for it returns after its end.
#ifndef SIM_RECORD_H
#define SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_scenario.h"

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

/// @return the first of @p count free records that follow each other; SIM_RECORD_NONE: there are none left
uint32_t sim_record_take(uint32_t count);

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

#endif
