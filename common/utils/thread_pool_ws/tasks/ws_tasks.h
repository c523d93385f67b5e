// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tasks.h
/// All state of the places where tasks of a pool wait. Read this first, then ws_queue.h (the deque of one
/// thread, and all places), ws_dig.h (what a wait takes from deques), ws_shared.h, ws_inbox.h.
///
/// Place     The deque of a thread's queue, or a queue that all threads share. If the pool has inboxes, these
///           may hold tasks, too.
/// Letters   Before a field's comment: I set at init, then read only. O its owner writes, all read. P its
///           owner's thread only. S any thread, atomic.
#ifndef WS_TASKS_H
#define WS_TASKS_H

#include <pthread.h>

#include "../include/ws_stats.h" // IWYU pragma: export
#include "ws_deque.h" // IWYU pragma: export
#include "ws_index.h" // IWYU pragma: export

#define WS_WORKERS_MAX 1024
#define WS_MASK_WORDS (WS_WORKERS_MAX / 64)
/// Lanes that a pool can have.
#define WS_LANES_MAX 1024
/// Domains of workers that a pool has at most (ws_domain_t).
#define WS_DOMAINS_MAX 16u

/// What a task asks for: nothing (WS_KIND_NORMAL), a priority, or a NUMA node (classes/ws_classes.h).
typedef uint32_t ws_kind_t;
enum { WS_KIND_NORMAL, WS_KINDS_MAX = 19 };

/// Counters of one thread in one pool; ws_stats.h says what each means.
typedef struct {
  ws_au64_t pushed; ///< O counted before the task is published, so that run <= pushed always
  ws_au64_t run; ///< O counted after the task has run, with release: [edge POOL_IDLE]
  ws_au64_t stolen, inlined, parks, wakes_sent, spins, spin_ns, growths, placements; ///< O
  ws_au64_t decided[WS_DECISIONS]; ///< O
  ws_au64_t stopped_callers, futile, hits, lates, misses, unused, capped, preempted; ///< O
} ws_counters_t;

typedef struct ws_queue_s ws_queue_t;

/// A wait for a group or an event: which tasks it may run. On its thread's stack.
typedef struct ws_wait_s {
  const ws_group_t *group; ///< those that carry it
  bool weak; ///< or a weak tag of it
  bool is_event; ///< it is for an event, which tasks of the group lead to
  bool is_timed; ///< it may end before its tasks: with a queue it takes none that another thread has pushed
  bool has_hidden; ///< set by a dig that hid other tasks for a moment: the caller calls ws_fill_slot()
  bool has_looked; ///< looked and passed are set
  const ws_queue_t *queue; ///< of its thread; NULL = it has none
  uint64_t base; ///< those in its thread's deque from this index on (ws_dig.h)
  uint64_t searched_below; ///< none in its deque below this index carries the group
  uint32_t kinds; ///< bit k: its thread has pushed tasks of kind k since it began (ws_shared.h)
  struct ws_wait_s *outer; ///< the thread's wait around this one; NULL = none
  uint32_t round_left; ///< of the thread's round before this wait: a wait has its own (ws_round.h)
  uint64_t looked[WS_KINDS_MAX]; ///< twice the pushes there at its last look; + 1 if that found a task
  /// 1 + the newest cell that it has passed over, of those with the group, and with a weak tag; 0 = none
  uint32_t passed[WS_KINDS_MAX][2];
} ws_wait_t;

/// @return the wait that may run what its thread pushes in @p wait: for an event, the one around it
static inline ws_wait_t *ws_wait_since(ws_wait_t *wait)
{
  while (wait && wait->is_event)
    wait = wait->outer;
  return wait;
}

/// Searches of a round: the last one is for others (core/ws_round.h).
#define WS_ROUND_SEARCHES 61u

/// When the owner takes its oldest task in place of the newest (ws_queue_s.oldest).
enum {
  WS_OLDEST_ALWAYS = 1, ///< settings.fifo
  WS_OLDEST_NEXT = 2 ///< its next search: a fiber has yielded to the others
};

/// A queue's bit in a summary word (ws_summary.h). NONE: it has none: a lane's, or no summaries.
/// CLEAR --the owner pushes--> SET --its queue is empty and it searches elsewhere--> CLEAR
typedef struct {
  ws_au64_t *word; ///< I
  enum { WS_SUMMARY_NONE, WS_SUMMARY_CLEAR, WS_SUMMARY_SET } state; ///< P
} ws_summary_bit_t;

/// Workers that a thread has reserved, and owes a task or a word that there is none (ws_inbox.h).
typedef struct {
  uint64_t bits; ///< workers 64 * word + i for each bit i
  uint32_t word;
  uint64_t left; ///< what tasks->left was before
} ws_reserved_t;

/// What a thread keeps about the inboxes that it fills (ws_inbox.h).
typedef struct {
  bool handed; ///< P lanes: the owner has handed tasks to workers since its last join
  ws_reserved_t reserved; ///< P lanes: workers that wait for the owner's next tasks
  uint32_t last; ///< P lanes: how many workers the owner reserved the last time, at most, in this burst
  uint32_t looked_at; ///< P lanes: worker whose inbox the owner looks at next
  uint64_t stamp; ///< P of the last inbox that the owner has filled or declined
} ws_outbox_t;

/// What a thread keeps about its steals (core/ws_steal.h).
typedef struct {
  uint32_t backoff_pauses; ///< P how long it waits at most before it steals
  uint32_t random; ///< P state of a sequence of numbers
  uint32_t victim; ///< P index of the queue that the last steal came from
  ws_steal_memo_t memo; ///< P of the queue that it has looked at last
  uint64_t looked_ns; ///< P when the owner last looked whether that queue holds more
} ws_thief_t;

/// Rounds of a thread's searches (core/ws_round.h).
typedef struct {
  uint32_t left; ///< P searches for which the own tasks still go first
  uint32_t stops_left; ///< P stops of fibers for which they still do
  uint32_t stops; ///< P what that was at the beginning of the round
  uint32_t looks; ///< P ends of rounds of waits
  uint64_t begun_ns; ///< P noted if fibers stopped in the round before
  uint32_t turn; ///< P the place whose turn it is at the next fairness tick (ws_queue.h)
} ws_round_t;

/// On which pool's account a thread that runs tasks uses a CPU (sleep/ws_helper.h).
typedef struct {
  struct ws_pool_s *pool; ///< P lanes: the pool while the owner has a CPU slot there as a helper, else NULL
  ws_queue_t *outer; ///< P the lane of the CPU slot that the owner took before, in another pool
  uint32_t producer; ///< P what is known of the owner: WS_PRODUCER_*
  uint32_t priority; ///< P 1 + its real-time priority; 0 = not known yet
  uint32_t calls_left; ///< P calls of workers for which it is thought to stay
  uint32_t suspended_at; ///< P number of the blocking section that suspended the slot; 0 = it is active
} ws_helping_t;

/// A queue that all threads share (ws_shared.h). Letter L: under the lock.
typedef struct ws_shared_cell_s ws_shared_cell_t;
typedef struct {
  alignas(WS_SPACING) pthread_mutex_t lock;
  ws_au32_t oldest; ///< L cell; UINT32_MAX = no task is queued; any thread reads
  ws_au64_t pushes; ///< L so far; any thread reads
  uint32_t node; ///< I where its memory lies: 1 + NUMA node; 0 = that of the thread that pushes first
  uint32_t first_capacity; ///< I
  ws_au32_t capacity; ///< L 0 = the cells are not mapped; any thread reads
  uint32_t used; ///< L cells that have held a task
  uint32_t newest, vacant; ///< L cells, vacant: of those that were used; UINT32_MAX = there is none
  ws_shared_cell_t *cell; ///< L [capacity]
  ws_index_t by_group, by_wait; ///< L of the cells: by their task's group, by the wait since which it came
} ws_shared_t;

/// The queue of one thread that pushes to a pool, worker or not, and what that thread does there.
struct ws_queue_s {
  ws_deque_t deque;
  /// O group of a task on the owner's stack, at the bottom or run by a wait. Every task in the deque was
  /// pushed by that task or its descendants: a thread that waits for this group may take them. NULL = the
  /// tasks have no root; the address of ws_root_mixed (core/ws_run.h) = they have several. Void if the deque
  /// is empty.
  alignas(WS_SPACING) ws_aptr_t root;
  ws_au64_t owner; ///< S lanes: id of the thread that owns it (ws_process_enroll), 0 = free. Workers: 0
  alignas(WS_SPACING) ws_counters_t count;
  ws_au32_t in_push; ///< O 1 = its owner pushes, and reads the pool: an end of the pool waits
  uint32_t depth; ///< P tasks on the owner's stack
  uint32_t index; ///< I of ws_tasks_t.queue
  ws_summary_bit_t summary_bit;
  ws_outbox_t outbox;
  ws_thief_t thief;
  ws_wait_t *wait; ///< P the owner's innermost wait; NULL = it does not wait
  uint32_t oldest; ///< P bits WS_OLDEST_*
  void (*yielded)(void *arg); ///< P with WS_OLDEST_NEXT: function of the task that continues that fiber
  /// P tasks pushed to a grown queue since the owner last looked whether it can shrink
  uint64_t since_shrink;
  ws_round_t round;
  uint32_t dig_turns; ///< P ends of rounds of waits with a look at the own queue (ws_dig.h)
  uint64_t dig_reach; ///< P tasks that the next such look may reach under
  ws_helping_t helping;
  /// S lanes: 1 = a worker dispatches its tasks (wide/ws_dispatch.c)
  alignas(WS_SPACING) ws_au32_t dispatched;
};

/// ws_inbox.h has the diagram.
enum { WS_INBOX_AWAY, WS_INBOX_WAITING, WS_INBOX_FULL, WS_INBOX_KEPT, WS_INBOX_TAKEN, WS_INBOX_STATES = 8 };

/// A task that a thread outside, or a dispatcher, hands to a worker that waits.
typedef struct {
  /// S WS_INBOX_* in the low bits; above them, the queue and the stamp of the last fill or decline
  ws_au64_t state;
  ws_aptr_t group; ///< S of the task: readable without taking the task
  ws_task_t task; ///< plain: owned by the thread that has reserved it, or has moved the state last
  ws_au32_t gone; ///< O 1 = the worker does not wait any more for the thread that has reserved it
  uint32_t index; ///< I the worker
  ws_au64_t *mask; ///< P the mask that has, or had, the worker's bit
  bool open; ///< P the worker waits for a task in it
  uint64_t seen; ///< P the guard's: the state at its last look, if it was FULL
  ws_au64_t stuck; ///< S a state that the guard has seen twice: any thread may take the task
} ws_inbox_t;

/// A bit for each of a few workers (ws_summary.h).
typedef struct {
  alignas(WS_SPACING) ws_au64_t bits; ///< S bit i: queue i of them may hold normal tasks; its owner writes it
} ws_summary_t;

/// Workers of one last-level cache, or of a part of it.
typedef struct {
  alignas(WS_SPACING) ws_au64_t mask[WS_MASK_WORDS]; ///< S bit w: worker w waits for a dispatcher
} ws_domain_t;

/// All places of a pool.
typedef struct {
  // Read by every push and every search; written seldom.
  /// I workers' queues, then lanes; entries below queues never change
  alignas(WS_SPACING) ws_queue_t **queue;
  ws_inbox_t **inbox; ///< I [inboxes]
  ws_summary_t *summary; ///< I [summaries]
  ws_domain_t *domain; ///< I [domains]
  uint32_t inboxes; ///< I 0 = none: no task is handed to a worker
  uint32_t domains; ///< I 0 = none: no worker dispatches
  uint32_t summaries; ///< I 0 = none: searches look at each queue
  ws_au32_t queues; ///< S entries of queue that were ever in use [edge LANE_TABLE]
  uint32_t workers; ///< I queues that are workers'
  uint32_t mask_words; ///< I of waiting, and of the sleepers, in use
  bool grows; ///< I full queues grow (WS_FULL_GROW)
  uint32_t kinds; ///< I kinds that the pool has, the normal one included
  ws_au32_t loose; ///< S 1 = some queue may have memory to give back
  ws_au32_t stuck; ///< S inboxes with a task that any thread may take, at the guard's last look
  ws_au32_t light; ///< I 1 = fills of inboxes have light fences: the kernel has heavy ones

  /// S tasks in all queues that threads share: written by each of their pushes and takes
  alignas(WS_SPACING) ws_au32_t shared_tasks;
  /// S bit w: worker w spins, and waits for a task from outside. The thread that takes the bit may fill its
  /// inbox.
  alignas(WS_SPACING) ws_au64_t waiting[WS_MASK_WORDS];
  /// S times that a worker has left its inbox though a thread had reserved it
  alignas(WS_SPACING) ws_au64_t left;
  /// S 1 + the lane whose tasks a worker dispatches, or did last; 0 = none, or it was empty then. Only a hint
  alignas(WS_SPACING) ws_au32_t dispatching;

  ws_shared_t shared[WS_KINDS_MAX]; ///< [kinds] of normal tasks: those in no deque
} ws_tasks_t;

// Groups and tags, beyond ws_group.h.

/// @return units not yet completed
uint32_t ws_group_units(ws_group_t *group);

/// @return whether a thread that waits for @p wanted may run a task that carries @p carried, a group or a tag
/// @param weak  a weak tag will do
static inline bool ws_group_is(const ws_group_t *carried, const ws_group_t *wanted, bool weak)
{
  return (((uintptr_t)carried ^ (uintptr_t)wanted) & ~(uintptr_t)(weak ? 3 : 1)) == 0;
}

/// @return whether the pool has to complete a unit for a task that carries @p group
static inline bool ws_group_counts(const ws_group_t *group)
{
  return group && !((uintptr_t)group & 1);
}

/// @brief Have the last completion wake threads and fibers that sleep. @return whether units are left: if
/// not, no wake comes
WS_FOR_FIBERS bool ws_group_announce(ws_group_t *group);

/// @brief Sleep until the group is done, at most until @p until_ns (CLOCK_MONOTONIC; 0 = no limit). Neither
/// helps nor spins. If the limit has passed, ws_group_done() has the result.
void ws_group_sleep(ws_group_t *group, uint64_t until_ns);

_Static_assert(sizeof(ws_cell_t) == 32, "two cells a line");

/// The queue becomes number @p index of the pool. @threads  one, before others know of the queue
static inline void ws_tasks_put(ws_tasks_t *tasks, ws_queue_t *queue, uint32_t index)
{
  tasks->queue[index] = queue;
  queue->index = index;
}

/// Add to a counter that only the caller writes.
static inline void ws_count(ws_au64_t *counter, uint64_t add)
{
  ws_stat_store(counter, ws_stat_load(counter) + add); // one writer
}

// What other rooms ask of a thief.

/// @return whether the owner of @p own knows of a task in the queue that its last steal came from
static inline bool ws_thief_is_sure(const ws_tasks_t *tasks, const ws_queue_t *own)
{
  return ws_memo_holds(&own->thief.memo, &tasks->queue[own->thief.victim]->deque);
}

/// @return whether it waits before its next steal: others were quicker
static inline bool ws_thief_waits(const ws_queue_t *own)
{
  return own->thief.backoff_pauses > 0;
}

static inline void ws_thief_forget(ws_queue_t *own)
{
  own->thief.backoff_pauses = 0;
}

/// @return workers, and lanes ever used: queues below this number can be read
static inline uint32_t ws_queue_count(const ws_tasks_t *tasks)
{
  return ws_load_acquire(&tasks->queues); // [edge LANE_TABLE acquire] the queue's fields
}

#endif
