// SPDX-License-Identifier: BSD-3-Clause
/// @file batch.h
/// What model.py appends to thread-pool.h.
#ifndef BATCH_H
#define BATCH_H

/// The last task of a batch runs in the caller.
static inline void pushTpool_batch(tpool_t *tpool, task_t task, bool is_last)
{
  if (tpool && !is_last)
    pushTpool(tpool, task);
  else
    task.func(task.args);
}

#endif
