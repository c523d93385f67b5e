// SPDX-License-Identifier: BSD-3-Clause
// Stop against a push that is under way: core/ws_push.c (announce, settle_late), core/ws_wait.c
// (ws_pool_stop), core/ws_run.c, core/ws_worker.c. Two pushing threads, one worker, one stopping thread.
// Plain stores (a pusher's publication, the state STOPPED) pass a store buffer of one entry each, as on
// x86. Parking is Park.tla's matter: here the worker simply waits until it sees work or STOPPED. It may end
// while a task is queued: its last look has no fence, and so may be out of date where memory is weaker than
// on x86.
//
// Checked: every task that a push accepted is run or skipped exactly once; after an abort none is run once
// the state is STOPPED.
// Mutants: NO_PUSH_FENCE, NO_LATE_CHECK, NO_SWEEP (no last look at the queues), NO_JOIN (last look before the
// state is visible), and with ABORT: RUN_ON_STOPPED (a worker skips in the state ABORTING alone). The fence
// after the store of STOPPED cannot fail here: on x86 the join of the worker that has seen it is one.
#define RUNNING 0
#define STOPPING 1
#define STOPPED 2
byte state;
bool state_stored;           // STOPPED sits in the stopping thread's buffer
byte pushed, ran;
byte queued[2], stored[2];   // per pusher: tasks in its queue; publications in its buffer
byte accepted, dealt;
byte ended;
bool worker_ended;

inline deal() { dealt++; assert(dealt <= accepted) }

active proctype drain()
{
end:
  do
  :: atomic { stored[0] > 0 -> stored[0]--; queued[0]++ }
  :: atomic { stored[1] > 0 -> stored[1]--; queued[1]++ }
  :: atomic { state_stored -> state_stored = false; state = STOPPED }
  od
}

active [2] proctype pusher()
{
  byte me = _pid - 1;
  byte turn;
  for (turn : 1 .. 2) {
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
       :: atomic { queued[me] > 0 -> queued[me]--; deal() }; ran++
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
  do
  :: atomic { queued[0] > 0 -> queued[0]--; deal() };
start:
#ifdef ABORT
#ifdef RUN_ON_STOPPED
     assert(state != STOPPED);      // it would run the task
#endif
#endif
     ran++
  :: atomic { queued[1] > 0 -> queued[1]--; deal() }; goto start
  :: state == STOPPED -> break
  od;
  worker_ended = true;
  ended++
}

active proctype stopper()
{
  byte seen;
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
  byte i;
#ifndef NO_SWEEP
  for (i : 0 .. 1) {
    do
    :: atomic { queued[i] > 0 -> queued[i]--; deal() }; ran++
    :: atomic { queued[i] == 0 -> break }
    od
  }
#endif
  ended++;
  ended == 4 && stored[0] == 0 && stored[1] == 0;
  assert(dealt == accepted)
}
