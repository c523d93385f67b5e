// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_next.c
/// ws_next.h: the order of a search, as one list of sources. The last search of a round (ws_round.h) comes
/// before that.
#include "ws_next.h"

#include "../classes/ws_classes.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "../trace/ws_traced.h"
#include "../wide/ws_wide.h"
#include "ws_run.h"
#include "ws_steal.h"

// The own deque.

/// Take the oldest own task, by settings.fifo, or because a fiber has yielded to the others. If that fiber is
/// alone in the queue, these are elsewhere: the thread tries to steal first.
static bool take_own_oldest(ws_search_t *search, ws_task_t *task)
{
  ws_queue_t *own = search->here.queue;
  const bool alone = (own->oldest & WS_OLDEST_NEXT) && ws_deque_size(&own->deque) <= 1;
  return (alone && ws_steal(search, task)) || ws_queue_take_oldest(own, task);
}

/// Take a task of the own deque: for a wait one that it may run, else the newest, or the oldest if
/// own->oldest is set. Sets search->from_own.
static bool take_own(ws_search_t *search, ws_task_t *task)
{
  ws_queue_t *own = search->here.queue;
  if (search->filter == WS_NEXT_GROUP)
    search->from_own = ws_dig(&search->pool->tasks, own, task);
  else
    search->from_own = own->oldest == 0 ? ws_deque_take(&own->deque, task) : take_own_oldest(search, task);
  return search->from_own;
}

// Pool-wide queues.

static bool take_of_kind(ws_search_t *search, ws_kind_t kind, ws_task_t *task)
{
  if (!ws_shared_take(&search->pool->tasks, kind, search->wait, task))
    return false;
  ws_traced_steal(search->pool, search->here, WS_VICTIM_SHARED);
  return true;
}

static bool take_overflow(ws_search_t *search, ws_task_t *task)
{
  return take_of_kind(search, WS_KIND_NORMAL, task);
}

/// Take the oldest task that the search may take, from the first pool-wide queue of the rank that has one.
static bool take_of_rank(ws_search_t *search, ws_rank_t rank, ws_task_t *task)
{
  if (ws_shared_count(&search->pool->tasks) == 0)
    return false;
  const ws_kinds_t kinds = ws_classes_of_rank(search->pool, rank);
  for (uint32_t i = 0; i < kinds.count; i++)
    if (take_of_kind(search, kinds.kind[i], task))
      return true;
  return false;
}

// Other threads.

/// Take a task that the caller has handed to a worker, and that the worker has not begun.
static bool take_back(ws_search_t *search, ws_task_t *task)
{
  return ws_inbox_has_handed(search->here.queue)
         && ws_inbox_take_back(&search->pool->tasks, search->here.queue, search->wait->group, task);
}

/// Take a task that a task of the group has pushed, from the thread that runs that one. Not for an event:
/// there a task may push the work that comes after the event, and the caller would still run that when its
/// event is ready. Not with a time limit: what the task pushes, or the task itself if it is a fiber that
/// yields, could stay in the caller's queue. The thread from which it was stolen waits for it, may be the
/// only worker, and does not look there.
static bool take_below(ws_search_t *search, ws_task_t *task)
{
  return !search->wait->is_event && !search->wait->is_timed && ws_steal_below(search, task);
}

/// Take what lies elsewhere, for a wait, and for each 61st search without a lane: in a pool-wide queue, or,
/// with a lane, by take_back() or take_below(). Each goes first in turn (search->turn). So fibers of high
/// priority that yield, or tasks that push themselves, do not keep a wait from the others.
static bool take_in_turn(ws_search_t *search, ws_task_t *task)
{
  const uint32_t kinds = search->pool->tasks.kinds, places = kinds + (search->here.queue ? 2 : 0);
  const uint32_t first = search->turn++;
  for (uint32_t i = 0; i < places; i++) {
    const uint32_t at = (first + i) % places;
    if (at < kinds ? ws_shared_count(&search->pool->tasks) > 0 && take_of_kind(search, at, task)
                   : (at == kinds ? take_back : take_below)(search, task))
      return true;
  }
  return false;
}

/// The filter of a thread that has no lane, and so sees pool-wide queues only.
#define LANELESS 8u

/// A source of tasks.
typedef struct {
  uint32_t filters; ///< for searches with one of these
  bool (*take)(ws_search_t *search, ws_task_t *task); ///< NULL = the pool-wide queues of the rank
  ws_rank_t rank;
} source_t;

/// In this order. While all pool-wide queues are empty, ws_next() has tried the own deque before.
static const source_t sources[] = {
    {WS_NEXT_ANY, .take = ws_take_stuck}, // its worker has no CPU: it has waited longest
    {WS_NEXT_ANY | WS_NEXT_GROUP | LANELESS, .rank = WS_RANK_HIGH}, // what the priority promises
    {WS_NEXT_ANY | WS_NEXT_GROUP, .take = take_own}, // newest first: its data are in this CPU's cache
    {WS_NEXT_ANY | LANELESS, .rank = WS_RANK_OWN_NODE}, // its data are in this node's memory
    {WS_NEXT_ANY, .take = ws_dispatch}, // of a lane from which many workers would steal
    {WS_NEXT_ANY, .take = ws_steal}, // the queue that served last, lanes, workers from near to far
    {WS_NEXT_ANY | LANELESS, .take = take_overflow}, // other threads' normal tasks that lie in no deque
    {WS_NEXT_ANY | LANELESS, .rank = WS_RANK_OTHER_NODES}, // from near to far: better there late than never
    {WS_NEXT_ANY | LANELESS, .rank = WS_RANK_LOW}, // when nothing else is left
    {WS_NEXT_GROUP, .take = take_in_turn}, // of the group elsewhere: the caller may be the only one to run it
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

/// Take a task from the first source that has one.
/// @param filters  only sources with one of these. @param own  false = leave the own deque out
static bool take_first(ws_search_t *search, uint32_t filters, bool own, ws_task_t *task)
{
  for (uint32_t i = 0; i < SOURCES; i++) {
    const source_t *source = &sources[i];
    if ((source->filters & filters) && (own || source->take != take_own)
        && (source->take ? source->take(search, task) : take_of_rank(search, source->rank, task)))
      return true;
  }
  return false;
}

/// A round of a wait is over, or a fiber has yielded in it: the next round begins. Take the task of the own
/// deque that ws_dig_turn() lets go first.
static bool take_oldest_of_group(ws_search_t *search, ws_task_t *task)
{
  ws_queue_t *own = search->here.queue;
  void (*const yielded)(void *arg) = own->oldest & WS_OLDEST_NEXT ? own->yielded : NULL;
  ws_forget_yield(own);
  ws_round_begin(own);
  search->from_own = ws_dig_turn(&search->pool->tasks, own, yielded, task);
  if (search->from_own && yielded && task->func == yielded
      && !ws_group_is(task->group, search->wait->group, true))
    ws_root_mix(own, task->group); // the fiber may be unrelated: what it pushes is not below the root
  return search->from_own;
}

/// The last search of a round (ws_round.h): a task that would be late goes first. In a wait the own deque and
/// what lies elsewhere have that turn one after the other. @return false = search as always
WS_SELDOM static bool take_late(ws_search_t *search, ws_task_t *task)
{
  ws_queue_t *own = search->here.queue;
  if (search->filter == WS_NEXT_ANY)
    return ws_tick(search, task);
  if (++own->round.looks % 2 == 1) {
    ws_round_begin(own);
    if (take_in_turn(search, task))
      return true;
  }
  return take_oldest_of_group(search, task);
}

bool ws_next_of_all(ws_search_t *search, bool is_over, ws_task_t *task)
{
  ws_queue_t *own = search->here.queue;
  search->from_own = false;
  if (!own)
    return ws_shared_count(&search->pool->tasks) > 0
           && ((++search->turn % WS_ROUND_SEARCHES == 0 && take_in_turn(search, task))
               || take_first(search, LANELESS, true, task));
  if (search->filter == WS_NEXT_OWN)
    return ws_queue_take_oldest(own, task);
  if (is_over && take_late(search, task))
    return true;
  const bool found = take_first(search, search->filter, true, task);
  if (search->filter == WS_NEXT_ANY)
    ws_forget_yield(own); // now: it counts for each source that the search came to
  return found;
}

bool ws_next_elsewhere(ws_search_t *search, ws_task_t *task)
{
  return take_first(search, search->filter, false, task);
}

bool ws_next_left(struct ws_pool_s *pool, ws_task_t *task)
{
  if (ws_inbox_take_any(&pool->tasks, task))
    return true;
  for (uint32_t place = ws_places(&pool->tasks); place-- > 0;)
    while (ws_place_holds(&pool->tasks, place)) // a take may give up, and no other thread will look
      if (ws_place_take(&pool->tasks, place, task))
        return true;
  return false;
}
