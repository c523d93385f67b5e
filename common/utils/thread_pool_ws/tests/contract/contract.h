// SPDX-License-Identifier: BSD-3-Clause
/// @file contract.h
/// The contract of the host's pool as tests. One source for every shape of the interface and for any pool
/// that has one of them: the host's own or ours. Drop-in means that both pass.
///
///   CONTRACT_SHAPE_A       queue elements go in and come back
///   CONTRACT_SHAPE_B1      tasks, and an array of answers
///   CONTRACT_SHAPE_B2      tasks, and a counting group
///   CONTRACT_SHAPE_B2PLUS  B2 with get_tpool_worker_index()
///   WS_OAI_PUSH_BATCH      the headers have pushTpool_batch()
///   CONTRACT_OURS          the pool is ours: tests of what goes beyond the host's own run too
///
/// Every test runs in a process of its own: a hang or a crash hides nothing else, and a pool that cannot be
/// ended (shape A) does not outlive its test. CUnit belongs to the main thread: a job records, the test
/// asserts.
/// No test asserts how long something took; CONTRACT_DEADLINE_S only turns "never" into a failure.
#ifndef CONTRACT_H
#define CONTRACT_H

#include <CUnit/CUnit.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(CONTRACT_SHAPE_A)
#include "thread-pool.h"
#define CONTRACT_TASKS 0
#else
#include "notified_fifo.h"
#include "task_ans.h"
#include "thread-pool.h" // first: B1's notified_fifo.h needs what it includes
#define CONTRACT_TASKS 1
#endif
#if defined(CONTRACT_SHAPE_B2PLUS) && !defined(CONTRACT_SHAPE_B2)
#define CONTRACT_SHAPE_B2
#endif

#include "../../base/ws_atomic.h"

/// WS_TEST_DEADLINE_S of the environment, or 240. A starved machine, or an emulated one, must not reach it.
#define CONTRACT_DEADLINE_S contract_deadline_s()
uint32_t contract_deadline_s(void);

typedef struct {
  const char *name;
  void (*run)(void);
} contract_case_t;
#define CASE(function)                                                                                       \
  {                                                                                                          \
#function, function                                                                                      \
  }
#define CASES_END                                                                                            \
  {                                                                                                          \
    NULL, NULL                                                                                               \
  }

extern const contract_case_t fifo_queue_cases[];
extern const contract_case_t pools_cases[];
extern const contract_case_t nested_cases[];
extern const contract_case_t unjoined_cases[];
extern const contract_case_t exit_cases[];
extern const contract_case_t params_cases[];
extern const contract_case_t settings_cases[];
#if CONTRACT_TASKS
extern const contract_case_t task_pool_cases[];
extern const contract_case_t task_groups_cases[];
extern const contract_case_t task_joiners_cases[];
extern const contract_case_t task_abort_cases[];
extern const contract_case_t newest_cases[];
#else
extern const contract_case_t fifo_pool_cases[];
extern const contract_case_t fifo_wait_cases[];
extern const contract_case_t fifo_measure_cases[];
extern const contract_case_t fifo_abort_cases[];
#endif

/// @brief For what the host's own pool does not promise: prints a visible line and says no, except on ours.
/// CONTRACT_ALL=1 in the environment runs it on any pool.
bool contract_ours_only(const char *why);

/// A program inside the program: `--child <name> <argument>`. Returns its exit status.
typedef struct {
  const char *name;
  int (*run)(const char *argument);
} contract_child_t;
extern const contract_child_t exit_children[];
extern const contract_child_t params_children[];
extern const contract_child_t settings_children[];
#define CONTRACT_TEXT_SIZE 4096
#define CONTRACT_HUNG (-1)
/// @brief Run this program again as a child, with its stderr in @p text (may be NULL).
/// @return exit status; 128 + signal; CONTRACT_HUNG
int contract_run_child(const char *name, const char *argument, char text[CONTRACT_TEXT_SIZE]);

/// @brief A pool in memory that holds garbage, as the host's malloc'ed ones. Never fails.
tpool_t *contract_memory(void);
tpool_t *contract_pool(int workers);
/// @brief End the pool. The host's own stays until its process ends: its abort frees records under its
/// threads (shape A) or may hang (B).
void contract_end(tpool_t *pool);

/// Several jobs and the wait for all of them, the same in every shape.
#define BATCH_MAX 256
typedef struct {
  void (*func)(void *);
  void *arg;
  void *answer;
} batch_job_t;
typedef struct {
  uint32_t count; ///< jobs in all
  uint32_t pushed;
#if CONTRACT_TASKS
  batch_job_t job[BATCH_MAX];
#ifdef CONTRACT_SHAPE_B1
  task_ans_t answer[BATCH_MAX];
#else
  task_ans_t answer;
#endif
#else
  notifiedFIFO_t response;
#endif
} batch_t;
void batch_begin(batch_t *batch, uint32_t count);
/// @brief Push one of the jobs; one thread at a time.
void batch_push(batch_t *batch, tpool_t *pool, void (*func)(void *), void *arg);
void batch_end(batch_t *batch, tpool_t *pool);

/// @brief Wait for a semaphore. @return false after the deadline
bool contract_sem_wait(sem_t *sem);
/// @brief Wait until @p holds(arg). @return false after the deadline
bool contract_until(bool (*holds)(void *), void *arg);
void contract_sleep_ms(uint32_t milliseconds);

/// Jobs that report that they have begun, then wait until they are let go.
typedef struct {
  sem_t entered, open;
  ws_au32_t left;
} gate_t;
void gate_init(gate_t *gate);
/// A job.
void gate_job(void *gate);
bool gate_await(gate_t *gate, uint32_t count);
void gate_let(gate_t *gate, uint32_t count);

/// A job: add 1 to a ws_au32_t.
void count_job(void *counter);

/// @return whether 30 jobs that are pushed to @p pool and awaited have all run
bool pool_works(tpool_t *pool);

#define THREADS_MAX 16
typedef struct {
  pthread_t thread[THREADS_MAX];
  uint32_t count;
} threads_t;
void threads_start(threads_t *threads, void *(*body)(void *), void *arg);
void threads_join(threads_t *threads);

#endif
