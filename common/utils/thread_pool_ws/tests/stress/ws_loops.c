// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_loops.c
/// Random programs of loops (ws_for.h), for ws_joins.h's pools, on real threads and on the simulated
/// machine. Up to three threads outside, their tasks and their fibers call loops, whose bodies call loops,
/// push and wait, yield and sleep. Each call of a body must have the slot that ws_for.h gives it, alone.
///
/// Each program ends: a call waits for what it has pushed, and only a fiber, or a thread in no task, for
/// fibers.
#include <errno.h>
#include <pthread.h>

#include "../../base/ws_atomic.h"
#include "../../include/ws_fiber.h"
#include "../../include/ws_for.h"
#include "../../include/ws_sync.h"
#include "ws_draw.h"
#include "ws_joins.h"

#define THREADS_MAX 3u
#define DEPTH_MAX 4u
#define ACTS_MAX 400u ///< of a program: those after them do not push
#define PARTS_MAX 4u

static const ws_joins_host_t *host;
static ws_au32_t acts;

/// A running loop; a task or fiber.
typedef struct {
  uint32_t depth;
  uint64_t random;
  const ws_pool_t *pool;
  const void *caller; ///< fiber or thread
  ws_au32_t in_use[WS_JOINS_WORKERS_MAX + 1];
  uint64_t numbers[WS_JOINS_WORKERS_MAX + 1]; ///< of the slot's calls. Not atomic: a call has its slot alone
} part_t;

static ws_pool_t *pool_of(uint64_t *random)
{
  return host->pool[host->pool[1] ? below(random, 2) : 0];
}

static void act(uint32_t depth, uint64_t *random);

static void body(void *loop_arg, uint64_t first, uint64_t end, uint32_t slot)
{
  part_t *loop = loop_arg;
  uint64_t random = loop->random + first;
  const bool has_its_own = slot == ws_pool_size(loop->pool)
                               ? ws_caller_id() == loop->caller
                               : (int32_t)slot == ws_pool_worker_index(loop->pool);
  if (!has_its_own || ws_xchg_acq_rel(&loop->in_use[slot], 1) != 0)
    host->wrong("a call of a loop's body has the slot of another one");
  host->begins(0);
  loop->numbers[slot] += end - first;
  act(loop->depth, &random);
  ws_store_release(&loop->in_use[slot], 0);
}

static void call_loop(uint32_t depth, uint64_t *random)
{
  ws_pool_t *pool = one_in(random, 16) ? NULL : pool_of(random);
  part_t loop = {.pool = pool, .caller = ws_caller_id(), .depth = depth, .random = draw(random)};
  const ws_for_t how = {.body = body, .arg = &loop, .grain = one_in(random, 4) ? 0 : 1};
  const uint64_t count = 1 + below(random, 12);
  if (ws_for(pool, &how, 0, count) != 0 || loop.numbers[0] + loop.numbers[1] + loop.numbers[2] != count)
    host->wrong("a loop has returned before its end");
}

static void run_part(void *part_arg)
{
  part_t *part = part_arg;
  act(part->depth, &part->random);
}

static void push_and_wait(uint32_t depth, uint64_t *random, bool as_fibers)
{
  part_t part[PARTS_MAX];
  ws_pool_t *pool = pool_of(random);
  const uint32_t count = 1 + below(random, PARTS_MAX);
  ws_group_t group;
  ws_group_init(&group, count);
  for (uint32_t i = 0; i < count; i++) {
    part[i] = (part_t){.depth = depth, .random = draw(random)};
    const ws_task_t task = {.func = run_part, .arg = &part[i], .group = &group};
    const int error =
        as_fibers ? ws_fiber_push(pool, run_part, &part[i], &group, NULL) : host->push(pool, task);
    if (error != 0)
      host->wrong(error == -ENOMEM   ? "there is no memory for a fiber"
                  : error == -EINVAL ? "a pool without workers refuses a fiber"
                                     : "a pool that runs refuses a part of a loop");
  }
  ws_group_wait(&group, pool);
}

static void act(uint32_t depth, uint64_t *random)
{
  const bool in_fiber = ws_fiber_self() != NULL, is_outside = !ws_current_task();
  const uint32_t what = below(random, depth == 0 || ws_add_relaxed(&acts, 1) >= ACTS_MAX ? 4 : 12);
  if (what == 0)
    host->work(draw(random));
  else if (what == 1 && in_fiber)
    ws_sleep_ns(below(random, 50000));
  else if (what == 2 && is_outside)
    ws_pool_wait(pool_of(random));
  else if (what < 4)
    ws_yield();
  else if (what < 8)
    call_loop(depth - 1, random);
  else
    push_and_wait(depth - 1, random, (in_fiber || is_outside) && one_in(random, 2));
}

static void *outside(void *random_arg)
{
  uint64_t random = *(const uint64_t *)random_arg;
  for (uint32_t left = 1 + below(&random, 4); left > 0; left--)
    act(DEPTH_MAX, &random);
  return NULL;
}

ws_joins_count_t ws_loops_play(const ws_joins_host_t *at, uint64_t seed)
{
  pthread_t thread[THREADS_MAX];
  uint64_t random[THREADS_MAX];
  const uint32_t threads = 1 + below(&seed, THREADS_MAX);
  host = at;
  ws_store_relaxed(&acts, 0); // relaxed: before the threads
  for (uint32_t i = 0; i < threads; i++) {
    random[i] = draw(&seed);
    if (pthread_create(&thread[i], NULL, outside, &random[i]) != 0)
      host->wrong("a thread could not be created");
  }
  for (uint32_t i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
  return (ws_joins_count_t){ws_load_relaxed(&acts), 0}; // relaxed: the threads have ended
}
