// SPDX-License-Identifier: BSD-3-Clause
/// @file batch.c
/// batch.h.
#include "batch.h"

#include <stdlib.h>
#include <string.h> // IWYU pragma: keep, for shape B1

static void run_batch_job(void *job_arg)
{
  const batch_job_t *job = job_arg;
#if CONTRACT_TASKS
  void *answer = job->answer;
  job->func(job->arg);
  completed_task_ans(answer);
#else
  job->func(job->arg);
#endif
}

#if CONTRACT_TASKS
void batch_begin(batch_t *batch, uint32_t count)
{
  if (count > BATCH_MAX)
    abort();
  batch->count = count;
  ws_store_relaxed(&batch->used, 0); // relaxed: no other thread has the batch yet
#ifdef CONTRACT_SHAPE_B1
  memset(batch->answer, 0, count * sizeof(batch->answer[0]));
#else
  init_task_ans(&batch->answer, count);
#endif
}

void batch_push(batch_t *batch, tpool_t *pool, void (*func)(void *), void *arg)
{
  const uint32_t unit = ws_add_relaxed(&batch->used, 1);
#ifdef CONTRACT_SHAPE_B1
  batch->job[unit] = (batch_job_t){.func = func, .arg = arg, .answer = &batch->answer[unit]};
#else
  batch->job[unit] = (batch_job_t){.func = func, .arg = arg, .answer = &batch->answer};
#endif
  pushTpool(pool, (task_t){.func = run_batch_job, .args = &batch->job[unit]});
}

void batch_complete(batch_t *batch, uint32_t count)
{
#ifdef CONTRACT_SHAPE_B1
  for (uint32_t i = 0; i < count; i++)
    completed_task_ans(&batch->answer[ws_add_relaxed(&batch->used, 1)]);
#else
  if (count == 1)
    completed_task_ans(&batch->answer);
  else
    completed_many_task_ans(&batch->answer, count);
#endif
}

void batch_end(batch_t *batch, tpool_t *pool)
{
#ifdef CONTRACT_SHAPE_B1
  join_task_ans(batch->answer, batch->count);
#else
  join_task_ans(&batch->answer);
#endif
}

void push_alone(tpool_t *pool, void (*func)(void *), void *arg)
{
  pushTpool(pool, (task_t){.func = func, .args = arg});
}
#else
void batch_begin(batch_t *batch, uint32_t count)
{
  batch->count = count;
  initNotifiedFIFO(&batch->response);
}

void batch_push(batch_t *batch, tpool_t *pool, void (*func)(void *), void *arg)
{
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(batch_job_t), 0, &batch->response, run_batch_job);
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

#define ALONE_MAX 4096
void push_alone(tpool_t *pool, void (*func)(void *), void *arg)
{
  static notifiedFIFO_elt_t elements[ALONE_MAX];
  static ws_au32_t used;
  notifiedFIFO_elt_t *elt = &elements[ws_add_relaxed(&used, 1) % ALONE_MAX];
  elt->processingFunc = func;
  elt->msgData = arg;
  pushTpool(pool, elt);
}
#endif
