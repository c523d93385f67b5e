// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_reduce.c
/// ws_reduce.h: halve the range, push the right half, run the left half, join.
///
/// The grain, unless the caller gives one, depends on the time that elements take:
/// - A large range: the caller times elements at its beginning, before it halves the rest.
/// - A small range: one element may be as much work as a thread gets, so no thread waits for a measurement.
///   The range is halved until each thread has a piece. A thread times the elements of its piece. If they are
///   long, it halves what is left of the piece. So short elements cost fewer than two pushes for each thread,
///   and long ones are single pieces.
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
/// A range with fewer elements than this for each thread is small: a probe of one element takes too long.
#define PROBE_PER_THREAD 8u
/// Pieces that each thread gets at most: the last ones end at about the same time.
#define PIECES_PER_THREAD 32u

typedef struct {
  ws_pool_t *pool;
  const ws_reduce_t *how;
  bool learns; ///< the grain falls as pieces are timed
  ws_au64_t grain; ///< elements of a piece, at most
} plan_t;

/// The right half of a range, and its result.
typedef struct {
  plan_t *plan;
  uint64_t first, end;
  bool done; ///< false after the join: an abort has skipped the task
  union {
    char bytes[WS_REDUCE_BYTES_MAX];
    max_align_t align;
  } result;
} half_t;

static void reduce(plan_t *plan, uint64_t first, uint64_t end, void *result);

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

/// @return how many elements a piece has at least, if @p elements take @p ns
static uint64_t least_grain(uint64_t elements, uint64_t ns)
{
  const uint64_t grain = ns > 0 ? PIECE_NS_MIN * elements / ns : PIECE_NS_MIN;
  return grain > 0 ? grain : 1;
}

/// @return the time that the elements took
static uint64_t run_timed(const ws_reduce_t *how, uint64_t first, uint64_t end, void *result)
{
  const uint64_t begin_ns = ws_os_now_ns();
  how->piece(how->arg, first, end, result);
  return ws_os_now_ns() - begin_ns;
}

/// Run a piece. If it turns out to be long, halve what is left.
static void run_piece(plan_t *plan, uint64_t first, uint64_t end, void *result)
{
  const ws_reduce_t *how = plan->how;
  for (uint64_t run = 1; plan->learns && run < end - first; run *= 2) {
    const uint64_t least = least_grain(run, run_timed(how, first, first + run, result));
    first += run;
    if (least < ws_hint_load(&plan->grain)) // of two threads one may be ignored
      ws_hint_store(&plan->grain, least);
    if (end - first > ws_hint_load(&plan->grain)) {
      reduce(plan, first, end, result);
      return;
    }
  }
  how->piece(how->arg, first, end, result);
}

static void reduce(plan_t *plan, uint64_t first, uint64_t end, void *result)
{
  const ws_reduce_t *how = plan->how;
  if (end - first <= ws_hint_load(&plan->grain)) {
    run_piece(plan, first, end, result);
    return;
  }
  if (how->over && how->over(how->arg)) {
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

/// Reduce elements at the beginning of a large range, and choose the grain by the time that they take.
/// @return the grain; @p first is set to the first element that is left
static uint64_t probe(const ws_reduce_t *how, uint64_t threads, uint64_t *first, uint64_t end, void *result)
{
  const uint64_t count = end - *first;
  uint64_t elements = 0, spent_ns = 0;
  for (uint64_t next = 1; spent_ns < PROBE_NS && *first < end && elements < count / PROBE_PART; next *= 2) {
    elements = next < end - *first ? next : end - *first; // of the longest run, which is timed best
    spent_ns = run_timed(how, *first, *first + elements, result);
    *first += elements;
  }
  const uint64_t fair = count / (threads * PIECES_PER_THREAD), least = least_grain(elements, spent_ns);
  return fair > least ? fair : least;
}

/// Choose the grain, unless the caller of ws_reduce() has.
static void make_plan(plan_t *plan, uint64_t *first, uint64_t end, void *result)
{
  const uint64_t count = end - *first, threads = (uint64_t)plan->pool->workers + 1;
  uint64_t grain = plan->how->grain;
  plan->learns = grain == 0 && (count < PROBE_PART || count / PROBE_PER_THREAD < threads);
  if (plan->learns)
    grain = count > threads ? count / threads : 1;
  else if (grain == 0)
    grain = probe(plan->how, threads, first, end, result);
  ws_init_store(&plan->grain, grain); // the pushes publish it
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
  plan_t plan = {.pool = pool, .how = how};
  make_plan(&plan, &first, end, result);
  if (first < end)
    reduce(&plan, first, end, result);
  return 0;
}
