// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_reduce.c
/// ws_reduce.h: halve the range, push the right half, run the left half, join.
#include "../include/ws_reduce.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../include/ws_group.h"
#include "../pool/ws_types.h"

/// A piece takes at least this time: a push and a join cost about a hundredth of it.
#define PIECE_NS_MIN 10000u
/// The first elements are timed until they have taken this time, ...
#define PROBE_NS 2000u
/// ... but no run begins after this part of the range, so that the other threads do not wait for long.
#define PROBE_PART 64u
/// Pieces that each thread gets at most: the last ones end at about the same time.
#define PIECES_PER_THREAD 32u

typedef struct {
  ws_pool_t *pool;
  const ws_reduce_t *how;
  uint64_t grain;
} plan_t;

/// The right half of a range, and its result.
typedef struct {
  const plan_t *plan;
  uint64_t first, end;
  bool done; ///< false after the join: an abort has skipped the task
  union {
    char bytes[WS_REDUCE_BYTES_MAX];
    max_align_t align;
  } result;
} half_t;

static void reduce(const plan_t *plan, uint64_t first, uint64_t end, void *result);

static void run_half(void *half_arg)
{
  half_t *half = half_arg;
  const ws_reduce_t *how = half->plan->how;
  if (how->neutral)
    memcpy(half->result.bytes, how->neutral, how->bytes);
  else
    memset(half->result.bytes, 0, how->bytes);
  reduce(half->plan, half->first, half->end, half->result.bytes);
  half->done = true;
}

static void reduce(const plan_t *plan, uint64_t first, uint64_t end, void *result)
{
  const ws_reduce_t *how = plan->how;
  if (end - first <= plan->grain) {
    how->piece(how->arg, first, end, result);
    return;
  }
  half_t right; // its result is set by the thread that runs it
  right.plan = plan;
  right.first = first + (end - first) / 2;
  right.end = end;
  right.done = false;
  ws_group_t group;
  ws_group_init(&group, 1);
  const ws_task_t task = {.func = run_half, .arg = &right, .group = &group};
  const bool pushed = ws_pool_push(plan->pool, task) == 0;
  reduce(plan, first, right.first, result);
  if (pushed)
    ws_group_wait(&group, plan->pool);
  if (!right.done)
    run_half(&right);
  how->combine(how->arg, result, right.result.bytes);
}

/// Reduce elements at the beginning of the range, and choose the grain by the time that they take.
/// @return the grain; @p first is set to the first element that is left
static uint64_t choose_grain(const struct ws_pool_s *pool, const ws_reduce_t *how, uint64_t *first,
                             uint64_t end, void *result)
{
  const uint64_t count = end - *first;
  uint64_t elements = 0, spent_ns = 0;
  for (uint64_t next = 1; spent_ns < PROBE_NS && *first < end && elements < count / PROBE_PART; next *= 2) {
    const uint64_t piece = next < end - *first ? next : end - *first;
    const uint64_t begin_ns = ws_os_now_ns();
    how->piece(how->arg, *first, *first + piece, result);
    spent_ns = ws_os_now_ns() - begin_ns;
    *first += piece;
    elements = piece; // of the longest run, which is timed best
  }
  const uint64_t fair = count / ((uint64_t)(pool->workers + 1) * PIECES_PER_THREAD);
  const uint64_t least = spent_ns > 0 && elements > 0 ? PIECE_NS_MIN * elements / spent_ns : PIECE_NS_MIN;
  const uint64_t grain = fair > least ? fair : least;
  return grain > 0 ? grain : 1;
}

int ws_reduce(ws_pool_t *pool, const ws_reduce_t *how, uint64_t first, uint64_t end, void *result)
{
  if (!how || !how->piece || !how->combine || !result || how->bytes == 0 || how->bytes > WS_REDUCE_BYTES_MAX)
    return -EINVAL;
  if (first >= end)
    return 0;
  if (!pool || pool->workers == 0) {
    how->piece(how->arg, first, end, result);
    return 0;
  }
  const uint64_t grain = how->grain > 0 ? how->grain : choose_grain(pool, how, &first, end, result);
  if (first < end)
    reduce(&(plan_t){.pool = pool, .how = how, .grain = grain}, first, end, result);
  return 0;
}
