// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber.c
/// ws_fiber.h, and what the core calls in this library: waits for groups and events in a fiber, the stop of a
/// pool.
#include "../include/ws_fiber.h"

#include <errno.h>
#include <string.h>

#include "../base/ws_base.h"
#include "../core/ws_push.h"
#include "../core/ws_run.h"
#include "../pool/ws_lane.h"
#include "../pool/ws_process.h"
#include "../pool/ws_steps.h"
#include "../tasks/ws_tasks.h"
#include "ws_fiber_process.h"
#include "ws_fiber_run.h"
#include "ws_lot.h"
#include "ws_overflow.h"
#include "ws_stack.h"

_Static_assert(WS_FIBER_STACK_BYTES_MIN == WS_STACK_BYTES_LEAST, "the smallest class of stacks");
_Static_assert((WS_STACK_BYTES_LEAST << (WS_STACK_CLASSES - 1)) == WS_FIBER_STACK_BYTES_MAX, "the largest");

/// ws_yield_sometimes(): a loop that polls costs little more, and its worker runs others soon.
#define POLLS_OF_A_TURN 16u

void ws_fiber_options_default(ws_fiber_options_t *options)
{
  if (options)
    *options = (ws_fiber_options_t){.stack_bytes = WS_FIBER_STACK_BYTES};
}

static bool is_open(void *group)
{
  return ws_group_announce(group);
}

static bool wait_for(ws_group_t *group, const ws_event_t *event, uint64_t until_ns)
{
  ws_fiber_t *fiber = ws_fiber_here();
  if (!fiber)
    return false;
  ws_steps_before_wait(&fiber->steps);
  const uint64_t deadline_ns = until_ns == 0 ? UINT64_MAX : until_ns;
  // not ended by a cancel: the group may lie on this stack
  while (group && !ws_group_done(group)
         && ws_lot_park(ws_lot_brief(group), is_open, group, deadline_ns, false) != -ETIMEDOUT)
    ;
  while (event && !event->ready(event->arg))
    event->sleep(event->arg);
  return true;
}

static ws_steps_t *steps(void)
{
  ws_fiber_t *fiber = ws_fiber_here();
  return fiber ? &fiber->steps : NULL;
}

static void completed(const void *group)
{
  ws_lot_unpark(ws_lot_brief(group), UINT32_MAX, NULL, NULL);
}

static bool aborts(const ws_task_t *task, ws_task_t *instead)
{
  if (task->func != ws_fiber_run)
    return false;
  *instead = *task;
  instead->func = ws_fiber_run_aborted;
  return true;
}

static void aborted(struct ws_pool_s *pool)
{
  ws_lot_abort(pool);
}

static void begin(void)
{
  static const ws_hooks_t hooks = {wait_for, steps, completed, aborts, aborted};
  ws_fiber_process_begin();
  ws_overflow_begin();
  ws_process_hook(&hooks);
}

static bool is_tag(const ws_group_t *group)
{
  return (uintptr_t)group & 1;
}

static bool has_spare(const ws_fiber_options_t *options)
{
  uint64_t bits = 0;
  for (uint32_t i = 0; i < sizeof(options->spare) / sizeof(options->spare[0]); i++)
    bits |= options->spare[i];
  return bits != 0;
}

static bool is_valid(const ws_group_t *group, const ws_fiber_options_t *options)
{
  return !is_tag(group) && (!options->tag || is_tag(options->tag))
         && options->stack_bytes >= WS_FIBER_STACK_BYTES_MIN
         && options->stack_bytes <= WS_FIBER_STACK_BYTES_MAX && (uint32_t)options->priority <= WS_PRIORITY_LOW
         && !has_spare(options);
}

/// Make a fiber at the top of its stack. @return NULL = there is no memory
static ws_fiber_t *make(ws_pool_t *pool, const ws_task_t *own, const ws_fiber_options_t *options)
{
  ws_stack_t stack;
  if (!ws_stack_get(options->stack_bytes, &stack))
    return NULL;
  char *top = stack.low + ws_stack_bytes(&stack) - sizeof(ws_fiber_t);
  ws_fiber_t *fiber = (ws_fiber_t *)(void *)(top - (uintptr_t)top % WS_FIBER_ALIGNMENT);
  *fiber = (ws_fiber_t){
      .pool = pool, .own = *own, .stack = stack, .cancel = options->cancel, .where = {WS_FIBER_QUEUED}};
  fiber->task = (ws_task_t){.func = ws_fiber_run,
                            .arg = fiber,
                            .priority = own->priority,
                            .node = own->node,
                            .group = own->group ? ws_group_tag(own->group) : options->tag};
  strncpy(fiber->name, options->name ? options->name : "fiber", WS_FIBER_NAME_MAX);
  return fiber;
}

int ws_fiber_push(ws_pool_t *pool, void (*func)(void *arg), void *arg, ws_group_t *group,
                  const ws_fiber_options_t *options)
{
  static const ws_fiber_options_t by_default = {.stack_bytes = WS_FIBER_STACK_BYTES};
  options = options ? options : &by_default;
  if (!pool || !func || !is_valid(group, options) || !ws_has_threads(pool)
      || pool->settings.full != WS_FULL_GROW)
    return -EINVAL;
  pthread_once(&ws_fiber_process.fiber_once, begin);
  const ws_task_t own = {
      .func = func, .arg = arg, .group = group, .priority = options->priority, .node = options->node};
  ws_fiber_t *fiber = make(pool, &own, options);
  if (!fiber)
    return -ENOMEM;
  const ws_stack_t stack = fiber->stack;
  const ws_here_t here = ws_here(pool);
  ws_count_pushed(pool, here.queue, 1); // until the fiber has ended, the pool is not idle
  const int result = ws_push_or_fail(pool, &fiber->task);
  if (WS_LIKELY(result == 0))
    return 0;
  ws_stack_put(&stack);
  ws_count_pushed(pool, here.queue, (uint64_t)-1);
  ws_note_idle(pool); // a waiter may have seen the sum too high
  return result;
}

bool ws_yield(void)
{
  ws_fiber_t *fiber = ws_fiber_here();
  if (!fiber)
    return false;
  ws_steps_before_wait(&fiber->steps);
  ws_fiber_leave(fiber, WS_WANTS_TURN);
  return true;
}

bool ws_yield_sometimes(void)
{
  ws_fiber_t *fiber = ws_fiber_here();
  return fiber && ++fiber->polls % POLLS_OF_A_TURN == 0 && ws_yield();
}

ws_fiber_t *ws_fiber_self(void)
{
  return ws_fiber_here();
}

const void *ws_caller_id(void)
{
  const ws_fiber_t *fiber = ws_fiber_here();
  return fiber ? (const void *)fiber : ws_fiber_thread();
}

const char *ws_fiber_name(void)
{
  const ws_fiber_t *fiber = ws_fiber_here();
  return fiber ? fiber->name : NULL;
}

void ws_fiber_stats_sized(ws_fiber_stats_t *stats, size_t bytes)
{
  if (!stats)
    return;
  ws_fiber_process_begin();
  ws_fiber_stats_t own = {0};
  for (uint32_t i = 0; i < WS_FIBER_COUNTERS; i++) {
    const ws_fiber_counters_t *counters = &ws_fiber_process.counters[i];
    own.begun += ws_stat_load(&counters->begun);
    own.ended += ws_stat_load(&counters->ended);
    own.dropped += ws_stat_load(&counters->dropped);
  }
  own.parked = ws_stat_load(&ws_fiber_process.parked);
  ws_stack_count(&own);
  ws_sized_put(stats, bytes, &own, sizeof(own));
}
