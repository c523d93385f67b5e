// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_classes.h
/// Priority classes and NUMA nodes: which pool-wide queues a pool has beside the overflow queue, which task
/// lies in which of them, and in which order a search looks there. A plug-in: the other rooms call the
/// functions below and use nothing else of it. ws_classes_null.c links in its place: then a pool has the
/// overflow queue only, and priorities and nodes of tasks make no difference.
#ifndef WS_CLASSES_H
#define WS_CLASSES_H

#include "../pool/ws_types.h"

/// @brief Decide how many kinds the pool has (tasks.kinds), and plan pool->nodes: NULL if the workers may run
/// on fewer than two nodes, or, with a warning, if the machine's are not known.
/// @param cpu  CPU of each requested worker, -1 = it floats. @threads  the creator, before there are workers
void ws_classes_plan(struct ws_pool_s *pool, const int32_t *cpu);

/// @return the kind of a task that is pushed: WS_KIND_NORMAL if it has neither a priority nor a node that
/// makes a difference. A priority goes before a node
ws_kind_t ws_classes_kind(const struct ws_pool_s *pool, const ws_task_t *task);

/// Where a search looks.
typedef enum { WS_RANK_HIGH, WS_RANK_OWN_NODE, WS_RANK_OTHER_NODES, WS_RANK_LOW } ws_rank_t;

/// Kinds, in the order in which a search looks at them.
typedef struct {
  const uint8_t *kind; ///< [count]
  uint32_t count;
} ws_kinds_t;

/// @return the kinds of a rank, for a search on the caller's CPU, valid as long as the pool; none for a rank
/// of nodes in a pool without nodes
ws_kinds_t ws_classes_of_rank(const struct ws_pool_s *pool, ws_rank_t rank);

/// @return for the kind of a node, whether the worker was last seen there; for another kind, whether it is
/// near the thread outside that pushed last
bool ws_classes_is_near(const struct ws_pool_s *pool, const ws_worker_t *worker, ws_kind_t kind);

/// @return where the queue of a kind has its memory: a hint as in ws_task_t.node
uint32_t ws_classes_home(const struct ws_pool_s *pool, ws_kind_t kind);

#endif
