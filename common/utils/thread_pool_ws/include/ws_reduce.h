// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_reduce.h
/// A parallel reduction: combine the results of the pieces of a range.
///
/// @code
///   static void add(void *arg, uint64_t first, uint64_t end, void *sum)   // of one piece
///   static void combine(void *arg, void *left, const void *right)         // of two neighbours
///   double sum = 0;
///   const ws_reduce_t sum_of = {.piece = add, .combine = combine, .arg = x, .bytes = sizeof(sum)};
///   ws_reduce(pool, &sum_of, 0, n, &sum);
/// @endcode
#ifndef WS_REDUCE_H
#define WS_REDUCE_H

#include <stddef.h>

#include "ws_pool.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// Most bytes of a result.
#define WS_REDUCE_BYTES_MAX 256

/// What a reduction does with its pieces.
typedef struct {
  /// Add the elements [first, end) to @p result. Called by several threads at once, for different pieces.
  void (*piece)(void *arg, uint64_t first, uint64_t end, void *result);
  /// Set @p left to the combination of both. The elements of @p left come directly before those of @p right:
  /// the operation must be associative, but need not be commutative.
  void (*combine)(void *arg, void *left, const void *right);
  void *arg;
  /// Bytes of a result, which is aligned like max_align_t: 0 .. WS_REDUCE_BYTES_MAX. 0 = there are no
  /// results: combine is not called, and @c result of piece is a const uint32_t *, the slot (ws_for.h).
  size_t bytes;
  const void *neutral; ///< where a piece's result begins; NULL = all bytes 0
  /// Target elements per piece. A piece gets between grain / 2 and grain elements. 0 (default) = chosen from
  /// the time that elements take: a piece takes about 10 us or more, or is one element, and each thread gets
  /// about 32 pieces at most, if the range has them. At first each thread gets one piece. It times the first
  /// elements, and divides the rest if that is long. So 12 elements of 6 us are 12 pieces, and short elements
  /// cost fewer than two pushes for each thread. With 0 the pieces differ from call to call, and so do the
  /// last digits of a floating-point sum.
  uint64_t grain;
  /// Called before a part of the range is divided, by several threads at once. true: the part is not divided
  /// any more, and piece is called for all of it. So a reduction whose result is not needed any more ends
  /// soon, if piece then returns at once. NULL (default) = divide.
  bool (*over)(void *arg);
} ws_reduce_t;

/// @brief Reduce the range [first, end) on the threads of @p pool and the caller.
/// The functions of @p how must return, as tasks must (ws_task_t), on any thread and with any @p pool, also
/// NULL: if an exception leaves one of them, or it ends its thread, the process ends with a message. During
/// the call the caller cannot be cancelled; a request acts after it. What workers run of it must not wait for
/// fibers (ws_fiber.h). Each time that the range is halved takes about 450 bytes of the caller's stack
/// (x86-64, optimised): with a grain of 1 a range of 2^22 takes 19 KB.
/// @param pool    NULL = on the caller alone
/// @param result  in: where the first piece begins, usually the neutral value; out: the result
/// @return 0; an empty range leaves @p result as it is; -EINVAL = @p how, its piece, or, unless bytes is 0,
///         its combine or @p result is NULL; or bytes is out of range.
///         If a piece cannot be pushed (the pool was stopped, its queue is full), or is skipped because the
///         pool is aborted meanwhile, the caller runs it
/// @threads   any, also inside a task
/// @ordering  as ws_group_wait(): the caller sees what the pieces wrote
int ws_reduce(ws_pool_t *pool, const ws_reduce_t *how, uint64_t first, uint64_t end, void *result);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
