// SPDX-License-Identifier: BSD-3-Clause
// Tasks of a kind, which lie in queues of their own: tasks/ws_kind.c, core/ws_push.c (push_any,
// handle_late_push), core/ws_find.c, tasks/ws_places.c (ws_work_visible), sleep/ws_park.c, core/ws_join.c,
// core/ws_wait.c (run_leftovers). Two threads push, workers find and park, and one thread stops the
// pool. Each push is of no kind or of a kind; a thread's first push of a kind makes its queue. The second
// pusher joins its tasks. The first pusher's first task pushes a child and joins it. The child pushes a
// grandchild of a kind, which carries no group and which the join needs as well: it may run it, because it
// was pushed since its mark. Stores of a push of a kind pass a store buffer. kinds_used and kinds_made may
// leave it at any time, the queue leaves it before the task; a fence waits until it is empty. A search that
// finds kinds_used set and no task of a kind counted may clear kinds_used (ws_kind_rest). A take from a deque is one
// step (Deque.pml has its steps). A search or a look at all queues is one step for tasks of no kind and one
// for tasks of a kind. The guard and the cap on awake workers are in Park.tla.
//
// Checked: every task that a push accepted runs exactly once, each join ends, and no task stays queued
// while the workers sleep (valid end state: the stopping thread waits until all tasks have run and does not
// help).
// Mutants: MADE_LATE, MADE_AFTER_LOOK (kinds_made is stored after the fence, after the look at the
// sleepers), REST_BLIND (kinds_used is cleared without a further look at the count, and decides whether a
// worker that parks looks at the queues of kinds), QUEUE_LATE (the queue is published after the fence), NO_PUSH_FENCE, LOOK_NO_KINDS
// (ws_work_visible ignores kinds), JOIN_NO_KINDS (a join ignores kinds), NO_MARK (a queue that is made
// during a join gets no mark), LATE_NO_KINDS (handle_late_push ignores kinds), SWEEP_NO_KINDS (run_leftovers
// ignores kinds), SLEEP_BY_COUNT (tasks->queued is raised after the look at the sleepers and decides whether
// a worker may sleep).
// COUNT_LATE is no mutant: tasks->queued is raised as late, but the queues decide. All properties hold,
// because the count is a hint.
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef TASKS
#define TASKS 2              // of the first pusher
#endif
#ifndef OTHERS
#define OTHERS 1             // of the second pusher
#endif
#define STOPPER 2
#define THREADS (3 + WORKERS)
#define RUNNING 0
#define STOPPING 1
#define STOPPED 2
#define PARENT 1             // a task is one bit
#define CHILD 16
#define GRANDCHILD 32
#define FAMILY (CHILD | GRANDCHILD)
#ifdef SLEEP_BY_COUNT
#define COUNT_LATE
#endif

byte state;
byte none[THREADS], kind[THREADS]; // tasks in each thread's queues
bool made[THREADS];          // the thread has a queue of the kind
bool ever;                   // kinds_made
bool used;                   // kinds_used
short count;                 // tasks->queued
bool ever_stored[THREADS], used_stored[THREADS], made_stored[THREADS]; // in the thread's store buffer
byte kind_stored[THREADS];
bool marked[THREADS];        // the mark of the thread's join covers the queue of the kind
byte sleepers, searching;
bool token[THREADS];
byte dealt, ran;             // tasks
byte pushed, finished;       // numbers of tasks
byte ended, workers_ended;


#define LOWEST(set) ((set) & (0 - (set)))
#define KIND(i) (made[i] -> kind[i] : 0)
#define FLUSHED (!ever_stored[me] && !used_stored[me] && !made_stored[me] && kind_stored[me] == 0)
#if WORKERS == 1
#define ALL_NONE (none[0] | none[1] | none[2] | none[3])
#define ALL_KIND (KIND(0) | KIND(1) | KIND(2) | KIND(3))
#else
#define ALL_NONE (none[0] | none[1] | none[2] | none[3] | none[4])
#define ALL_KIND (KIND(0) | KIND(1) | KIND(2) | KIND(3) | KIND(4))
#endif
#define DRAIN(i) \
  :: atomic { ever_stored[i] -> ever_stored[i] = false; ever = true } \
  :: atomic { used_stored[i] -> used_stored[i] = false; used = true } \
  :: atomic { made_stored[i] -> made_stored[i] = false; made[i] = true } \
  :: atomic { kind_stored[i] != 0 && !made_stored[i] -> \
              kind[i] = kind[i] | kind_stored[i]; kind_stored[i] = 0 }

active proctype drain()
{
end:
  do
  DRAIN(0)
  DRAIN(1)
  DRAIN(2)
  DRAIN(3)
#if WORKERS > 1
  DRAIN(4)
#endif
  od
}

inline wake()
{
  atomic {
    if
    :: sleepers != 0 ->
       claimed = LOWEST(sleepers);
       sleepers = sleepers & ~claimed;
       searching++;
       token[claimed + 2] = true;
       claimed = 0
    :: else
    fi
  }
}

inline push(what, of_kind)
{
  atomic {
    pushed++;
    if
    :: of_kind ->
#ifndef COUNT_LATE
       count++
#else
       skip
#endif
    :: else -> none[me] = none[me] | what
    fi
  };
  atomic {                     // the addition to the count was a fence
    if
    :: of_kind ->
       used_stored[me] = !used;
#if !defined(MADE_LATE) && !defined(MADE_AFTER_LOOK)
       ever_stored[me] = !ever;
#endif
#ifndef QUEUE_LATE
       made_stored[me] = !made[me];
#endif
#ifndef NO_MARK
       marked[me] = marked[me] || !made[me];
#endif
       kind_stored[me] = what
    :: else
    fi
  };
#ifndef NO_PUSH_FENCE
  FLUSHED;
#endif
#ifdef MADE_LATE
  ever_stored[me] = of_kind;
#endif
#ifdef QUEUE_LATE
  made_stored[me] = of_kind && !made[me];
#endif
  late = (state == STOPPED);
  if
  :: !late && sleepers != 0 ->
     if
     :: searching == 0 -> wake()
     :: else
     fi
  :: else
  fi;
#ifdef MADE_AFTER_LOOK
  ever_stored[me] = of_kind;
#endif
#ifdef COUNT_LATE
  count = count + (of_kind -> 1 : 0)
#else
  skip
#endif
}

inline deal(what)
{
  task = what;
  assert((dealt & task) == 0);
  dealt = dealt | task
}

inline deal_none(i, what) { deal(what); none[i] = none[i] & ~task }
inline deal_kind(i, what) { deal(what); kind[i] = kind[i] & ~task; count-- }

inline complete()
{
  atomic { assert((ran & task) == 0); ran = ran | task; finished++ }
}

// The join of PARENT. Once the pool has stopped, handle_late_push takes all that is left in the thread's queues.
inline join_family()
{
  marked[me] = made[me];
  if
  :: of_kind = false
  :: of_kind = true
  fi;
  push(CHILD, of_kind);
  of_kind = false;
  do
  :: (ran & FAMILY) == FAMILY -> break
  :: else ->
     atomic {
       FLUSHED;                     // a take from the thread's own queue has a fence
       if
       :: none[me] & CHILD -> deal_none(me, CHILD)
#ifndef JOIN_NO_KINDS
       :: KIND(me) & CHILD -> deal_kind(me, CHILD)
       :: marked[me] && (KIND(me) & GRANDCHILD) -> deal_kind(me, GRANDCHILD)
#endif
       :: late && none[me] != 0 -> deal_none(me, LOWEST(none[me]))
#ifndef LATE_NO_KINDS
       :: late && KIND(me) != 0 -> deal_kind(me, LOWEST(kind[me]))
#endif
       :: else -> task = 0
       fi
     };
     if
     :: task == 0 -> (ran & FAMILY) == FAMILY
     :: task == CHILD -> push(GRANDCHILD, true); complete()
     :: else -> complete()
     fi
  od;
  task = PARENT
}

inline run_task()
{
  if
  :: task == PARENT -> join_family()
  :: task == CHILD -> push(GRANDCHILD, true)
  :: else
  fi;
  complete()
}

active [2] proctype pusher()
{
  byte me = _pid - 1;
  byte turn, task, claimed, mine;
  bool of_kind, late;
  for (turn : 1 .. (me == 0 -> TASKS : OTHERS)) {
    if
    :: state != RUNNING -> break    // refused
    :: else
    fi;
    if
    :: of_kind = false
    :: of_kind = true
    fi;
    atomic { task = 1 << (2 * me + turn - 1); mine = mine | task };
    push(task, of_kind);
    of_kind = false;
    do
    :: !late -> break
    :: late ->
       atomic {
         FLUSHED;
         if
         :: none[me] != 0 -> deal_none(me, LOWEST(none[me]))
#ifndef LATE_NO_KINDS
         :: KIND(me) != 0 -> deal_kind(me, LOWEST(kind[me]))
#endif
         :: else -> break
         fi
       };
       run_task()
    od
  }
  do
  :: me == 0 || (ran & mine) == mine -> break
  :: else ->
     atomic {
       FLUSHED;
       if
       :: none[me] & mine -> deal_none(me, LOWEST(none[me]))
#ifndef JOIN_NO_KINDS
       :: KIND(me) & mine -> deal_kind(me, LOWEST(kind[me]))
#endif
       :: else -> task = 0; goto sleep
       fi
     };
     complete();
     task = 0
  od;
sleep:
  me == 0 || (ran & mine) == mine;
  ended++
}

active proctype stopper()
{
  byte me = STOPPER;
  byte i, from, task, claimed;
  bool of_kind, late;
  atomic { state == RUNNING -> state = STOPPING };
  finished == pushed;
  state = STOPPED;
  do
  :: sleepers != 0 -> wake()
  :: else -> break
  od;
  workers_ended == WORKERS;
  for (i : 0 .. THREADS) {
    from = (i == THREADS -> STOPPER : i); // its own again: what it has run may have pushed
    do
    :: atomic { none[from] != 0 -> deal_none(from, LOWEST(none[from])) };
settle:
       run_task()
#ifndef SWEEP_NO_KINDS
    :: atomic { KIND(from) != 0 -> deal_kind(from, LOWEST(kind[from])) }; goto settle
    :: none[from] == 0 && KIND(from) == 0 -> break
#else
    :: none[from] == 0 -> break
#endif
    od
  }
  ended == 2;
  FLUSHED;
  assert(finished == pushed && ran == dealt && ALL_NONE == 0 && ALL_KIND == 0)
}

inline look()
{
  visible = (ALL_NONE != 0);
#ifdef SLEEP_BY_COUNT
  visible = visible || count != 0
#else
  if
#ifdef REST_BLIND
  :: !visible && used -> visible = (ALL_KIND != 0)
#else
  :: !visible && ever ->
     visible = (ALL_KIND != 0);
     used = used || visible
#endif
  :: else
  fi
#endif
}

inline rest()
{
  if
  :: count == 0 ->
     used = false;
#ifdef REST_BLIND
     of_kind = false
#else
     used = used || count != 0
#endif
  :: true
  fi
}

// As ws_find: the count only saves a look.
inline find()
{
  task = 0;
  of_kind = used;
  if
  :: of_kind -> rest()
  :: else
  fi;
  if
  :: of_kind && count != 0 ->
     atomic {
       of_kind = false;
       if
       :: KIND(0) != 0 -> deal_kind(0, LOWEST(kind[0]))
       :: KIND(1) != 0 -> deal_kind(1, LOWEST(kind[1]))
       :: KIND(2) != 0 -> deal_kind(2, LOWEST(kind[2]))
       :: KIND(3) != 0 -> deal_kind(3, LOWEST(kind[3]))
#if WORKERS > 1
       :: KIND(4) != 0 -> deal_kind(4, LOWEST(kind[4]))
#endif
       :: else
       fi
     }
  :: else -> of_kind = false
  fi;
  atomic {
    if
    :: task != 0
    :: else ->
       if
       :: none[0] != 0 -> deal_none(0, LOWEST(none[0]))
       :: none[1] != 0 -> deal_none(1, LOWEST(none[1]))
       :: none[2] != 0 -> deal_none(2, LOWEST(none[2]))
       :: none[3] != 0 -> deal_none(3, LOWEST(none[3]))
#if WORKERS > 1
       :: none[4] != 0 -> deal_none(4, LOWEST(none[4]))
#endif
       :: else
       fi
    fi
  }
}

active [WORKERS] proctype worker()
{
  byte me = _pid - 1;
  byte task, claimed;
  bool of_kind, late, visible, seeks, last;
  do
  :: find();
     if
     :: task != 0 ->
        if
        :: seeks ->
           atomic { searching--; last = (searching == 0); seeks = false };
           if
           :: last ->
              last = false;
              look();
              if
              :: visible && searching == 0 -> wake()
              :: else
              fi;
              visible = false
           :: else
           fi
        :: else
        fi;
        run_task()
     :: else ->
        if
        :: seeks -> atomic { searching--; seeks = false }
        :: else
        fi;
        if
        :: state == STOPPED ->
           look();
           if
           :: !visible -> break
           :: else
           fi
        :: else
        fi;
        sleepers = sleepers | (me - 2);
#ifdef LOOK_NO_KINDS
        visible = (ALL_NONE != 0);
#else
        look();
#endif
        atomic {
          if
          :: (visible || state == STOPPED) && (sleepers & (me - 2)) ->
             sleepers = sleepers & ~(me - 2);
             searching++
          :: else -> token[me]; token[me] = false
          fi;
          seeks = true;
          visible = false
        }
     fi
  od;
  workers_ended++
}
