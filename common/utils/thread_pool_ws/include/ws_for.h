// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_for.h
/// A parallel loop over pieces of a range, with a slot for each thread of the loop.
///
/// @code
///   static void scale(void *arg, uint64_t first, uint64_t end, uint32_t slot)   // may use scratch[slot]
///   scratch_t *scratch = calloc(ws_pool_size(pool) + 1, sizeof(*scratch));
///   const ws_for_t scaling = {.body = scale, .arg = scratch};
///   ws_for(pool, &scaling, 0, n);
/// @endcode
#ifndef WS_FOR_H
#define WS_FOR_H

#include <errno.h>

#include "ws_reduce.h" // IWYU pragma: export

#ifdef __cplusplus
extern "C" {
#endif

/// What a loop does.
typedef struct {
  /// Called for each piece [first, end) of the range, by several threads at once.
  /// @param slot  0 .. ws_pool_size(pool). Calls of one loop that run at the same time have different slots:
  ///              a worker of the pool has its index, the caller has ws_pool_size(pool)
  void (*body)(void *arg, uint64_t first, uint64_t end, uint32_t slot);
  void *arg;
  uint64_t grain; ///< as ws_reduce_t.grain: 0 (default) = chosen from the time that elements take
  bool (*over)(void *arg); ///< as ws_reduce_t.over. Default NULL
} ws_for_t;

/// Private to ws_for().
typedef struct {
  const ws_for_t *how;
  ws_pool_t *pool;
  const ws_task_t *task; ///< that calls, NULL = none. A fiber may continue on another thread
} ws_for_call_t;

/// Private to ws_for().
static inline void ws_for_piece(void *call_arg, uint64_t first, uint64_t end, void *unused)
{
  const ws_for_call_t *const call = (const ws_for_call_t *)call_arg;
  const int32_t index = ws_current_task() == call->task ? -1 : ws_pool_worker_index(call->pool);
  (void)unused;
  call->how->body(call->how->arg, first, end, index < 0 ? ws_pool_size(call->pool) : (uint32_t)index);
}

/// Private to ws_for().
static inline bool ws_for_over(void *call_arg)
{
  const ws_for_t *const how = ((const ws_for_call_t *)call_arg)->how;
  return how->over && how->over(how->arg);
}

/// @brief Call the body for pieces of the range [first, end), on the workers of @p pool and the caller. Other
/// threads that wait in the pool take no part.
/// @return 0; -EINVAL = @p how or its body is NULL. Otherwise as ws_reduce()
static inline int ws_for(ws_pool_t *pool, const ws_for_t *how, uint64_t first, uint64_t end)
{
  ws_for_call_t call;
  ws_reduce_t pieces = {ws_for_piece, NULL, &call, 0, NULL, 0, ws_for_over};
  if (!how || !how->body)
    return -EINVAL;
  call.how = how;
  call.pool = pool;
  call.task = ws_current_task();
  pieces.grain = how->grain;
  return ws_reduce(pool, &pieces, first, end, NULL);
}

#ifdef __cplusplus
}
#endif
#endif
