// SPDX-License-Identifier: BSD-3-Clause
// Stop against a push that is under way: core/ws_push.c (announce_tasks, ws_run_left), core/ws_wait.c
// (ws_pool_stop), core/ws_run.c, core/ws_worker.c. Two pushing threads, one worker, one stopping thread.
// Plain stores (a pusher's publication, the state STOPPED) pass a store buffer of one entry each, as on
// x86. Parking is Park.tla's matter: here the worker simply waits until it sees work or STOPPED. It may end
// while a task is queued: its last look has no fence, and so may be out of date where memory is weaker than
// on x86.
// With CHILDREN each task, wherever it runs, pushes a child and joins it, and a pusher pushes once.
//
// Checked: every task that a push accepted is run or skipped exactly once; each join ends (valid end state);
// after an abort none is run once the state is STOPPED; a push inside a task is accepted.
// Mutants: NO_PUSH_FENCE, NO_LATE_CHECK, NO_SWEEP (no last look at the queues), NO_JOIN (last look before the
// state is visible); with ABORT: RUN_ON_STOPPED (a task is skipped in the state ABORTING alone); with
// CHILDREN: REFUSE_STOPPED (tasks may not push any more when the pool has stopped), LATE_OUTSIDE (nor may a
// task that runs late, once the stop has begun). The fence after the store of STOPPED cannot fail here: on
// x86 the join of the worker that has seen it is one.
#define RUNNING 0
#define STOPPING 1
#define STOPPED 2
#define WORKER 2
#define STOPPER 3
#ifdef CHILDREN
#define TURNS 1
#else
#define TURNS 2
#endif
byte state;
bool aborted;
bool state_stored;           // STOPPED sits in the stopping thread's buffer
byte pushed, ran;
byte queued[2], stored[2];   // per pusher: tasks in its queue; publications in its buffer
bool child[4], child_stored[4], child_done[4]; // per thread: in its queue; in its buffer; completed
byte accepted, dealt;
byte ended;
bool worker_ended;

inline deal() { dealt++; assert(dealt <= accepted) }

inline take_child(owner)
{
  atomic { child[owner] -> child[owner] = false; deal() };
  child_done[owner] = true;
  ran++
}

// A task of a pusher, which the thread me has taken. late: by ws_run_late
inline run_task(late)
{
  atomic {
#ifdef RUN_ON_STOPPED
    skipped = (state == STOPPING);
#else
    skipped = aborted;
#endif
#ifdef ABORT
    assert(skipped || state != STOPPED)
#endif
  };
#ifdef CHILDREN
  if
  :: skipped
  :: else ->
#ifdef REFUSE_STOPPED
     assert(state != STOPPED);
#endif
#ifdef LATE_OUTSIDE
     assert(!late || state == RUNNING);
#endif
     accepted++;
     pushed++;
     child_done[me] = false;
     child_stored[me] = true;
     !child_stored[me];             // the fence; then ws_run_left or the join take it, unless a thief has
     do
     :: child_done[me] -> break
     :: take_child(me)
     od
  fi;
#endif
  ran++
}

active proctype drain()
{
end:
  do
  :: atomic { stored[0] > 0 -> stored[0]--; queued[0]++ }
  :: atomic { stored[1] > 0 -> stored[1]--; queued[1]++ }
  :: atomic { state_stored -> state_stored = false; state = STOPPED }
#ifdef CHILDREN
  :: atomic { child_stored[0] && stored[0] == 0 -> child_stored[0] = false; child[0] = true }
  :: atomic { child_stored[1] && stored[1] == 0 -> child_stored[1] = false; child[1] = true }
  :: atomic { child_stored[2] -> child_stored[2] = false; child[2] = true }
  :: atomic { child_stored[3] -> child_stored[3] = false; child[3] = true }
#endif
  od
}

active [2] proctype pusher()
{
  byte me = _pid - 1;
  byte turn;
  bool skipped;
  for (turn : 1 .. TURNS) {
    if
    :: state != RUNNING -> break    // refused
    :: else
    fi;
    accepted++;
    pushed++;
    stored[me]++;
#ifndef NO_PUSH_FENCE
    stored[me] == 0;
#endif
#ifndef NO_LATE_CHECK
    if
    :: state == STOPPED ->
       do
       :: atomic { queued[me] > 0 -> queued[me]--; deal() }; run_task(true)
       :: atomic { queued[me] == 0 && stored[me] == 0 -> break }
       od
    :: else
    fi
#endif
  }
  ended++
}

active proctype worker()
{
  byte me = WORKER;
  bool skipped;
  do
  :: atomic { queued[0] > 0 -> queued[0]--; deal() };
start:
     run_task(false)
  :: atomic { queued[1] > 0 -> queued[1]--; deal() }; goto start
#ifdef CHILDREN
  :: take_child(0)
  :: take_child(1)
#endif
  :: state == STOPPED -> break
  od;
  worker_ended = true;
  ended++
}

active proctype stopper()
{
  byte me = STOPPER;
  byte seen, i;
  bool skipped;
#ifdef ABORT
  aborted = true;
#endif
  state = STOPPING;                 // a CAS: no buffer
  do
  :: seen = ran;
     if
     :: seen == pushed -> break
     :: else
     fi
  od;
  state_stored = true;
#ifndef NO_JOIN
  worker_ended;
#endif
#ifndef NO_SWEEP
  for (i : 0 .. 1) {
    do
    :: atomic { queued[i] > 0 -> queued[i]--; deal() }; run_task(true)
#ifdef CHILDREN
    :: take_child(i)
#endif
    :: atomic { queued[i] == 0 && !child[i] -> break }
    od
  }
#endif
  ended++;
  ended == 4 && stored[0] == 0 && stored[1] == 0;
  assert(dealt == accepted)
}
