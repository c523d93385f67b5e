// SPDX-License-Identifier: BSD-3-Clause
/// @file support.c
/// contract.h: waits, gates, threads, pools, and jobs in batches.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "contract.h"

#define GARBAGE 0xA5
#define POOLS_MAX 512

/// A pool that is never ended is no leak.
static struct {
  tpool_t *volatile pool[POOLS_MAX];
  uint32_t count;
} made;

bool contract_ours_only(const char *why)
{
#ifdef CONTRACT_OURS
  (void)why;
  return true;
#else
  if (getenv("CONTRACT_ALL"))
    return true;
  printf("SKIP: %s\n", why);
  return false;
#endif
}

tpool_t *contract_memory(void)
{
  tpool_t *pool = malloc(sizeof(*pool));
  if (!pool)
    abort();
  memset(pool, GARBAGE, sizeof(*pool));
  made.pool[made.count++ % POOLS_MAX] = pool;
  return pool;
}

tpool_t *contract_pool(int workers)
{
  static char name[] = "contract";
  tpool_t *pool = contract_memory();
  initFloatingCoresTpool(workers, pool, false, name);
  return pool;
}

void contract_end(tpool_t *pool)
{
#ifdef CONTRACT_OURS
  abortTpool(pool);
  if (CONTRACT_TASKS) // a pool of shape A may be used after its end: its memory must stay
    free(pool);
#else
  (void)pool;
#endif
}

#if CONTRACT_TASKS
static void run_batch_job(void *job_arg)
{
  batch_job_t *job = job_arg;
  void *answer = job->answer;
  job->func(job->arg);
  completed_task_ans(answer);
}

void batch_begin(batch_t *batch, uint32_t count)
{
  if (count > BATCH_MAX)
    abort();
  batch->count = count;
  batch->pushed = 0;
#ifdef CONTRACT_SHAPE_B1
  memset(batch->answer, 0, count * sizeof(batch->answer[0]));
#else
  init_task_ans(&batch->answer, count);
#endif
}

void batch_push(batch_t *batch, tpool_t *pool, void (*func)(void *), void *arg)
{
  batch_job_t *job = &batch->job[batch->pushed];
#ifdef CONTRACT_SHAPE_B1
  *job = (batch_job_t){.func = func, .arg = arg, .answer = &batch->answer[batch->pushed]};
#else
  *job = (batch_job_t){.func = func, .arg = arg, .answer = &batch->answer};
#endif
  batch->pushed++;
  pushTpool(pool, (task_t){.func = run_batch_job, .args = job});
}

void batch_end(batch_t *batch, tpool_t *pool)
{
  (void)pool;
#ifdef CONTRACT_SHAPE_B1
  join_task_ans(batch->answer, batch->count);
#else
  join_task_ans(&batch->answer);
#endif
}
#else
static void run_batch_job(void *job_arg)
{
  const batch_job_t *job = job_arg;
  job->func(job->arg);
}

void batch_begin(batch_t *batch, uint32_t count)
{
  batch->count = count;
  batch->pushed = 0;
  initNotifiedFIFO(&batch->response);
}

void batch_push(batch_t *batch, tpool_t *pool, void (*func)(void *), void *arg)
{
  notifiedFIFO_elt_t *elt =
      newNotifiedFIFO_elt(sizeof(batch_job_t), batch->pushed++, &batch->response, run_batch_job);
  *(batch_job_t *)NotifiedFifoData(elt) = (batch_job_t){.func = func, .arg = arg};
  pushTpool(pool, elt);
}

void batch_end(batch_t *batch, tpool_t *pool)
{
  for (uint32_t i = 0; i < batch->count; i++) {
    notifiedFIFO_elt_t *elt = pullTpool(&batch->response, pool);
    if (!elt)
      abort();
    delNotifiedFIFO_elt(elt);
  }
}
#endif

uint32_t contract_deadline_s(void)
{
  const char *seconds = getenv("WS_TEST_DEADLINE_S");
  return seconds ? (uint32_t)atoi(seconds) : 240;
}

bool contract_sem_wait(sem_t *sem)
{
  for (uint32_t second = 0; second < CONTRACT_DEADLINE_S; second++) { // a stopped process loses one of them
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    int result;
    while ((result = sem_timedwait(sem, &until)) != 0 && errno == EINTR)
      ;
    if (result == 0)
      return true;
  }
  return false;
}

void contract_sleep_ms(uint32_t milliseconds)
{
  struct timespec rest = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
    ;
}

bool contract_until(bool (*holds)(void *), void *arg)
{
  for (uint32_t i = 0; i < CONTRACT_DEADLINE_S * 500; i++) {
    if (holds(arg))
      return true;
    contract_sleep_ms(2);
  }
  return false;
}

void gate_init(gate_t *gate)
{
  sem_init(&gate->entered, 0, 0);
  sem_init(&gate->open, 0, 0);
  ws_store_relaxed(&gate->left, 0);
}

void gate_job(void *gate_arg)
{
  gate_t *gate = gate_arg;
  sem_post(&gate->entered);
  while (sem_wait(&gate->open) != 0)
    ;
  ws_add_acq_rel(&gate->left, 1);
}

bool gate_await(gate_t *gate, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    if (!contract_sem_wait(&gate->entered))
      return false;
  return true;
}

void gate_let(gate_t *gate, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    sem_post(&gate->open);
}

void count_job(void *counter)
{
  ws_add_acq_rel((ws_au32_t *)counter, 1);
}

void threads_start(threads_t *threads, void *(*body)(void *), void *arg)
{
  if (threads->count == THREADS_MAX
      || pthread_create(&threads->thread[threads->count++], NULL, body, arg) != 0)
    abort();
}

void threads_join(threads_t *threads)
{
  for (uint32_t i = 0; i < threads->count; i++)
    pthread_join(threads->thread[i], NULL);
  threads->count = 0;
}

bool pool_works(tpool_t *pool)
{
  batch_t batch;
  ws_au32_t counter = {0};
  batch_begin(&batch, 30);
  for (uint32_t i = 0; i < 30; i++)
    batch_push(&batch, pool, count_job, &counter);
  batch_end(&batch, pool);
  return ws_load_acquire(&counter) == 30;
}
