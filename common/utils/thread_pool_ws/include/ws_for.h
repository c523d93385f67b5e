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
///
/// Slots. A loop is one call of ws_for(), and its caller a fiber (ws_fiber.h), or else a thread, in a task or
/// not. A call of the body has its slot from its begin to its return, also while it waits, or its fiber is
/// parked:
/// - what the caller runs itself has slot ws_pool_size(pool), whichever thread runs a fiber;
/// - what worker i of @p pool takes from a queue has slot i, also if it is the thread that calls;
/// - what a calling thread that is no worker of @p pool takes from a queue has slot ws_pool_size(pool).
/// No other thread runs pieces, also not one that runs the calling fiber. A thread that waits within a call
/// of the body runs no other call of the same loop meanwhile. Loops, also nested ones, have the same
/// numbers: memory of a slot belongs to one loop.
#ifndef WS_FOR_H
#define WS_FOR_H

#include <errno.h>

#include "ws_reduce.h" // IWYU pragma: export

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push // of inline functions in C
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

/// What a loop does.
typedef struct {
  /// Called for each piece [first, end) of the range, by several threads at once.
  /// @param slot  0 .. ws_pool_size(pool): a number that no other running call of this loop has
  void (*body)(void *arg, uint64_t first, uint64_t end, uint32_t slot);
  void *arg;
  uint64_t grain; ///< as ws_reduce_t.grain: 0 (default) = chosen from the time that elements take
  bool (*over)(void *arg); ///< as ws_reduce_t.over. Default NULL
} ws_for_t;

/// Private to ws_for().
static inline void ws_for_piece(void *how_arg, uint64_t first, uint64_t end, void *slot)
{
  const ws_for_t *const how = (const ws_for_t *)how_arg;
  how->body(how->arg, first, end, *(const uint32_t *)slot);
}

/// Private to ws_for().
static inline bool ws_for_over(void *how_arg)
{
  const ws_for_t *const how = (const ws_for_t *)how_arg;
  return how->over && how->over(how->arg);
}

/// @brief Call the body for pieces of the range [first, end), on the workers of @p pool and the caller. Other
/// threads that wait in the pool take no part. The body must return, and the caller cannot be cancelled
/// meanwhile: see ws_reduce(). With @p pool NULL the caller alone runs all, with slot 0.
/// @return 0; -EINVAL = @p how or its body is NULL. Otherwise as ws_reduce()
static inline int ws_for(ws_pool_t *pool, const ws_for_t *how, uint64_t first, uint64_t end)
{
  ws_reduce_t pieces = {ws_for_piece, NULL, (void *)(uintptr_t)how, 0, NULL, 0, ws_for_over};
  if (!how || !how->body)
    return -EINVAL;
  pieces.grain = how->grain;
  return ws_reduce(pool, &pieces, first, end, NULL);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif
#endif
