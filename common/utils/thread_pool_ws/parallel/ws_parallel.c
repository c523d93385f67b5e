// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_parallel.c
/// ws_scan.h: a task for each block, on the node of its memory. ws_reduce.h: halve the range, push the right
/// half, run the left half, join.
///
/// The grain, unless the caller gives one, depends on the time that elements take. At first the range is
/// halved until each thread has a piece. A thread times the first elements of its piece. If what is left of
/// the piece takes long, the thread halves it. So a range of short elements costs a few pushes for each
/// thread, and no thread waits for a measurement.
///
/// Pushed pieces lie on the stack of the call. So no exception, pthread_exit or cancellation in a function of
/// the program can leave the call (ws_escape.h).
#include "../core/ws_escape.h"
#include "../include/ws_group.h"
#include "../include/ws_node.h"
#include "../include/ws_record.h"
#include "../include/ws_reduce.h"
#include "../include/ws_scan.h"
#include "../pool/ws_process.h"
#include "../pool/ws_steps.h"

/// A piece that is not halved takes less than twice this time, unless there are enough of them: a push and a
/// join cost about a hundredth of it.
#define PIECE_NS_MIN 10000u
/// Elements are timed in runs that double, until one has taken this time: shorter ones show the clock's cost.
#define PROBE_NS (PIECE_NS_MIN / 5)
/// Pieces of the finest grain for each thread, at least: the last ones end at about the same time.
#define PIECES_PER_THREAD 32u

typedef struct {
  ws_pool_t *pool;
  const ws_reduce_t *how;
  pthread_t caller; ///< 0 = a fiber, which may move from thread to thread
  uint64_t finest; ///< the grain falls no further; 0 = it is given
  ws_au64_t grain; ///< elements of a piece that is not halved, at most: falls as pieces are timed
  ws_au64_t run; ///< elements that are timed first
} plan_t;

/// A piece that a stack is in the middle of.
typedef struct ws_piece_s {
  const plan_t *plan;
  const struct ws_piece_s *outer; ///< it waits in that one; NULL = in none
} piece_t;

/// The right half of a range, and its result.
typedef struct {
  plan_t *plan;
  uint64_t first, end;
  bool done; ///< false after the join: it was not pushed, left to its pusher, or an abort has skipped it
  alignas(max_align_t) char result[WS_REDUCE_BYTES_MAX];
} half_t;

static void reduce(plan_t *plan, uint64_t first, uint64_t end, void *result);

/// Reduce the half, from the neutral value. @param slot  of a loop: where the slot of the thread, or of the
/// calling fiber, is
static void run_half(half_t *half, void *slot)
{
  const ws_reduce_t *how = half->plan->how;
  if (how->neutral)
    memcpy(half->result, how->neutral, how->bytes);
  else
    memset(half->result, 0, how->bytes);
  reduce(half->plan, half->first, half->end, how->bytes > 0 ? half->result : slot);
  half->done = true;
}

/// The task of a half. Of a loop (bytes is 0) a thread that has no slot, or is inside a piece of this loop,
/// leaves the half to the thread that pushed it.
static void run_pushed(void *half_arg)
{
  half_t *half = half_arg;
  const plan_t *plan = half->plan;
  const int32_t index = ws_pool_worker_index(plan->pool);
  uint32_t slot = index < 0 ? ws_pool_size(plan->pool) : (uint32_t)index; // ws_for.h has the rule
  const piece_t *piece = ws_steps_here()->piece; // of the thread: a fiber runs no tasks
  while (piece && piece->plan != plan)
    piece = piece->outer;
  if (plan->how->bytes > 0 || (!piece && (index >= 0 || plan->caller == pthread_self())))
    run_half(half, &slot);
}

/// Call how->piece for [first, end), as the innermost piece of this stack.
/// @param result  in and out; of a loop: the slot
static void call_piece(plan_t *plan, uint64_t first, uint64_t end, void *result)
{
  ws_steps_t *here = ws_steps_here(); // a fiber's go with it
  const piece_t piece = {plan, here->piece};
  here->piece = &piece;
  plan->how->piece(plan->how->arg, first, end, result);
  here->piece = piece.outer;
}

/// @p run elements have taken @p ns. @return the grain. Of two threads that learn at once one may be ignored
static uint64_t learn_grain(plan_t *plan, uint64_t run, uint64_t ns)
{
  const uint64_t least = PIECE_NS_MIN * run / ns, before = ws_hint_load(&plan->grain);
  const uint64_t grain = least > plan->finest ? least : plan->finest;
  ws_hint_store(&plan->run, run);
  if (grain >= before)
    return before;
  ws_hint_store(&plan->grain, grain);
  return grain;
}

/// Run a piece. If it turns out to be long, halve what is left.
static void run_piece(plan_t *plan, uint64_t first, uint64_t end, void *result)
{
  for (uint64_t run = ws_hint_load(&plan->run); plan->finest > 0 && run < end - first; run *= 2) {
    const uint64_t begin_ns = ws_os_now_ns();
    call_piece(plan, first, first + run, result);
    const uint64_t ns = ws_os_now_ns() - begin_ns;
    first += run;
    if (ns < PROBE_NS)
      continue;
    if (end - first <= learn_grain(plan, run, ns))
      break;
    reduce(plan, first, end, result);
    return;
  }
  call_piece(plan, first, end, result);
}

/// Run [first, end): divide it down to the grain, or until over() returns true.
/// @param result  in and out; of a loop: the slot
static void reduce(plan_t *plan, uint64_t first, uint64_t end, void *result)
{
  const ws_reduce_t *how = plan->how;
  if (end - first <= ws_hint_load(&plan->grain)) {
    run_piece(plan, first, end, result);
    return;
  }
  if (how->over && how->over(how->arg)) {
    call_piece(plan, first, end, result);
    return;
  }
  half_t right; // its result is set where it runs
  right.plan = plan;
  right.first = first + (end - first) / 2;
  right.end = end;
  right.done = false;
  ws_group_t group;
  ws_group_init(&group, 1);
  const ws_task_t task = {.func = run_pushed, .arg = &right, .group = &group};
  const bool pushed = ws_pool_push(plan->pool, task) == 0;
  reduce(plan, first, right.first, result);
  if (pushed)
    ws_group_wait(&group, plan->pool);
  if (!right.done)
    run_half(&right, result);
  if (how->bytes > 0)
    how->combine(how->arg, result, right.result);
}

int ws_reduce(ws_pool_t *pool, const ws_reduce_t *how, uint64_t first, uint64_t end, void *result)
{
  if (!how || !how->piece || how->bytes > WS_REDUCE_BYTES_MAX
      || (how->bytes > 0 && (!how->combine || !result)))
    return -EINVAL;
  if (first >= end)
    return 0;
  uint32_t workers = ws_pool_size(pool); // of a loop the caller's slot, too
  const uint64_t count = end - first, grain = workers > 0 && ws_has_threads(pool) ? how->grain : count;
  const uint64_t fair = count / ((uint64_t)workers + 1), finest = fair / PIECES_PER_THREAD;
  plan_t plan = {.pool = pool, .how = how, .finest = grain > 0 ? 0 : finest > 0 ? finest : 1};
  plan.caller = ws_steps_here() == &ws_self()->steps ? pthread_self() : 0;
  ws_init_store(&plan.grain, grain > 0 ? grain : fair > 0 ? fair : 1); // the pushes publish it
  ws_init_store(&plan.run, 1);
  WS_NOTHING_ESCAPES();
  const int cancel = ws_cancel_disable();
  reduce(&plan, first, end, how->bytes > 0 ? result : &workers);
  ws_cancel_restore(cancel);
  return 0;
}

/// One block's task.
typedef struct {
  const ws_scan_t *scan;
  uint32_t index;
  bool done; ///< false after the join: an abort has skipped the task
} block_t;

static void scan_block(void *block_arg)
{
  block_t *block = block_arg;
  block->scan->scan(block->scan->arg, block->scan->block[block->index], block->index);
  block->done = true;
}

/// Push a task for each block, and wait for all. The caller scans what cannot be pushed, or was skipped.
/// @param block  out: [scan->count]. @param node  of each block; NULL = not known
static void scan_all(ws_pool_t *pool, const ws_scan_t *scan, block_t *block, const int32_t *node)
{
  ws_group_t group;
  ws_group_init(&group, scan->count);
  for (uint32_t i = 0; i < scan->count; i++) {
    block[i] = (block_t){.scan = scan, .index = i};
    const ws_task_t task = {.func = scan_block,
                            .arg = &block[i],
                            .group = &group,
                            .node = node ? ws_node_hint(node[i]) : WS_NODE_ANY};
    if (ws_pool_push(pool, task) < 0) { // while the caller runs it, the pool's queues may empty
      ws_must_return(scan_block, &block[i], NULL);
      ws_group_complete(&group, 1);
    }
  }
  ws_group_wait(&group, pool);
  for (uint32_t i = 0; i < scan->count; i++)
    if (!block[i].done)
      ws_must_return(scan_block, &block[i], NULL);
}

int ws_scan(ws_pool_t *pool, const ws_scan_t *scan)
{
  if (!pool || !scan || !scan->scan || (!scan->block && scan->count > 0) || scan->count > WS_GROUP_UNITS_MAX)
    return -EINVAL;
  block_t *block = calloc(scan->count + 1, sizeof(block_t) + sizeof(int32_t));
  if (!block)
    return -ENOMEM;
  int32_t *node = (int32_t *)(void *)(block + scan->count + 1);
  const bool hints = !scan->no_hints && pool->nodes;
  scan_all(pool, scan, block, hints && ws_os_nodes_of(scan->count, scan->block, node) == 0 ? node : NULL);
  free(block);
  return 0;
}
