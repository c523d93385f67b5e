// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_summary.h
/// Summary words: which workers' queues may hold tasks, a bit for each. A search in a pool of many workers
/// reads them, and not a line of each queue.
///
/// Roles      Only a queue's owner changes its bit: it sets the bit before it pushes, and clears it when its
///            queue is empty and it searches elsewhere. Any thread reads.
/// Invariant  Legal: set though the queue is empty. Illegal: clear while the deque holds a task.
/// Why        The bit is set before the task is published. So a thread that must see the task because of a
///            fence [PARK_DEKKER] sees the bit as well, or a later value. If that is clear, a thread has
///            taken the task, because the owner clears the bit of an empty queue only.
/// Not        For lanes, which are looked at one by one, and queues that all threads share.
#ifndef WS_SUMMARY_H
#define WS_SUMMARY_H

#include "ws_tasks.h" // IWYU pragma: export

/// Queues that share one word; 64 at most.
#define WS_SUMMARY_WORKERS 16u

static inline uint64_t ws_summary_mask(const ws_queue_t *queue)
{
  return UINT64_C(1) << (queue->index % WS_SUMMARY_WORKERS);
}

/// @brief A worker's queue, which has its index, has a bit from now on, if the pool has such words.
/// @threads  the creator, before there are workers
static inline void ws_summary_begin(const ws_tasks_t *tasks, ws_queue_t *queue)
{
  if (tasks->summaries > 0)
    queue->summary_bit = (ws_summary_bit_t){.word = &tasks->summary[queue->index / WS_SUMMARY_WORKERS].bits,
                                            .state = WS_SUMMARY_CLEAR};
}

/// @brief Before a push of normal tasks: set the queue's bit, if it has one.
/// @threads  the queue's owner
static inline void ws_summary_note(ws_queue_t *queue)
{
  if (WS_LIKELY(queue->summary_bit.state != WS_SUMMARY_CLEAR))
    return;
  queue->summary_bit.state = WS_SUMMARY_SET;
  // [edge PARK_DEKKER acq_rel] the bit before the task, and before the fence of the push
  ws_or_acq_rel(queue->summary_bit.word, ws_summary_mask(queue));
}

/// @brief The owner is about to search elsewhere: clear the queue's bit if the queue is empty.
/// @threads  the queue's owner
static inline void ws_summary_rest(ws_queue_t *queue)
{
  if (queue->summary_bit.state != WS_SUMMARY_SET || ws_deque_size(&queue->deque) > 0)
    return;
  queue->summary_bit.state = WS_SUMMARY_CLEAR;
  // [edge PARK_DEKKER acq_rel] the queue is empty before the bit is clear
  ws_and_acq_rel(queue->summary_bit.word, ~ws_summary_mask(queue));
}

/// @return the bits of the worker's word from the worker's on
static inline uint64_t ws_summary_from(const ws_tasks_t *tasks, uint32_t worker)
{
  // relaxed: a hint, or ordered by the caller's fence [PARK_DEKKER]
  const uint64_t word = ws_load_relaxed(&tasks->summary[worker / WS_SUMMARY_WORKERS].bits);
  return word >> (worker % WS_SUMMARY_WORKERS);
}

/// @return whether the queue of @p worker may hold normal tasks
static inline bool ws_summary_has(const ws_tasks_t *tasks, uint32_t worker)
{
  return tasks->summaries == 0 || (ws_summary_from(tasks, worker) & 1);
}

/// @return the first queue from @p from on that may hold normal tasks: a worker's, or the first lane; without
/// summary words, or from the first lane on, @p from
static inline uint32_t ws_summary_next(const ws_tasks_t *tasks, uint32_t from)
{
  if (WS_LIKELY(tasks->summaries == 0) || from >= tasks->workers)
    return from;
  uint64_t bits = ws_summary_from(tasks, from);
  while (bits == 0 && (from += WS_SUMMARY_WORKERS - from % WS_SUMMARY_WORKERS) < tasks->workers)
    bits = ws_summary_from(tasks, from);
  return bits == 0 ? tasks->workers : from + (uint32_t)__builtin_ctzll(bits);
}

#endif
