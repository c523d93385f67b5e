// SPDX-License-Identifier: BSD-3-Clause
// The parking lot: fiber/LOT.md. Two fibers wait for one condition; two workers run them from one bag of
// queued tasks. A waker makes the condition true. Fiber 0 has a time limit, and an alarm thread that ends its
// wait. A stop may abort: it ends the waits of all fibers. The stopping thread frees the pool when all fibers
// have ended and no thread resumes one. One bucket. Sequentially consistent; each step is one access, or what
// one hold of a lock makes one step.
//
// Checked: no fiber runs on two threads, and none is resumed before it has left its stack. A fiber is queued
// once at a time. No thread touches the record of a wait that has returned, nor the pool after it was freed. A
// wait returns because the condition holds, or because of the time limit or the abort. Every fiber ends (valid
// end state): no wake, no time limit and no abort is lost.
// Mutants: EARLY (the record is enqueued before the fiber has left its stack), LOOK_FIRST (may_park reads the
// condition before the lock), GAP (the lock is released between may_park and the enqueueing), BIT_FIRST (the
// waker reads the bit before it makes the condition true), FORGET_TIME (a time limit before the enqueueing is
// not remembered), KEEP_ALARM (a wait returns with its alarm set), TWICE (a time limit resumes a fiber that
// another thread has removed), FORGET_ABORT (a wait that begins after the abort does not read it), NO_RESUMERS
// (the stopping thread does not wait for threads that resume).
// Without a waker (NO_WAKER) the abort (ABORT) must end the waits, or the time limit if fiber 0 is the only one
// (ONE).
#define FIBERS 2
mtype = { NOTHING, WAKE, TIME, CANCEL }

bool open, marked;              // one word: the condition, and whether a fiber may wait
bool bucket, alarms;          // locks
bool queued[FIBERS], begun[FIBERS], ended[FIBERS];
byte on_stack[FIBERS];        // threads on the fiber's stack
bool record[FIBERS];          // the wait's record exists
bool in_lot[FIBERS];
mtype ended_by[FIBERS] = NOTHING;
bool alarm_set;               // of fiber 0
bool aborted, freed;
byte resumers;

#define all_ended (ended[0] && ended[1])

inline lock(which) { atomic { !which -> which = true } }
inline unlock(which) { which = false }

// The push of a fiber's task publishes it, and looks for a worker to wake then.
inline push(f)
{
  atomic { assert(!freed && !queued[f] && on_stack[f] == 0); queued[f] = true };
  assert(!freed)
}

// Under the bucket's lock.
inline remove(f, why)
{
  atomic {
    assert(record[f]);
    in_lot[f] = false;
    ended_by[f] = why;
    resumers++
  }
}

inline resume(f)
{
  push(f);
  resumers--
}

inline leave_stack(f) { on_stack[f]-- }
inline enter_stack(f) { atomic { assert(on_stack[f] == 0); on_stack[f]++ } }

inline may_park(result)
{
  atomic {
    if
    :: open -> result = false
    :: else -> marked = true; result = true
    fi
  }
}

// Steps 1 to 4 of park: ws_lot_park(), ws_lot_enter(). parks: out, whether the fiber is in the lot
inline park(f)
{
  record[f] = true;
  if
  :: f == 0 -> lock(alarms); alarm_set = true; unlock(alarms)
  :: else
  fi;
#ifdef LOOK_FIRST
  may_park(parks);
#endif
  lock(bucket);
#ifdef FORGET_ABORT
  if
  :: ended_by[f] != NOTHING -> parks = false
#else
  if
  :: ended_by[f] != NOTHING || aborted -> parks = false
#endif
#ifdef LOOK_FIRST
  :: else
#else
  :: else -> may_park(parks)
#endif
  fi;
#ifdef GAP
  unlock(bucket);
  lock(bucket);
#endif
  if
  :: parks -> in_lot[f] = true
  :: else
  fi;
  unlock(bucket)
}

// Step 5, on the fiber's stack.
inline return_from_wait(f)
{
#ifndef KEEP_ALARM
  if
  :: f == 0 && ended_by[f] != TIME -> lock(alarms); alarm_set = false; unlock(alarms)
  :: else
  fi;
#endif
  assert(open || ended_by[f] == TIME || aborted);
  record[f] = false
}

inline run_fiber(f)
{
  enter_stack(f);
  if
  :: !begun[f] ->
     begun[f] = true;
#ifndef EARLY
     leave_stack(f);
#endif
     park(f);
#ifdef EARLY
     leave_stack(f);
#endif
     if
     :: parks -> goto next     // this thread does not touch the fiber any more
     :: else -> enter_stack(f)
     fi
  :: else
  fi;
  return_from_wait(f);
  leave_stack(f);
  ended[f] = true
}

active [2] proctype worker()
{
  byte mine;
  bool parks;
next:
  do
  :: atomic { queued[0] -> queued[0] = false; mine = 0 }; run_fiber(mine)
  :: atomic { queued[1] -> queued[1] = false; mine = 1 }; run_fiber(mine)
  :: all_ended -> break
  od
}

#ifndef NO_WAKER
active proctype waker()
{
  bool found[FIBERS];
#ifdef BIT_FIRST
  bool seen = marked;
  open = true;
#else
  open = true;
  bool seen = marked;
#endif
  if
  :: seen ->
     lock(bucket);
     if
     :: in_lot[0] -> remove(0, WAKE); found[0] = true
     :: else
     fi;
     if
     :: in_lot[1] -> remove(1, WAKE); found[1] = true
     :: else
     fi;
     unlock(bucket);
     if
     :: found[0] -> resume(0)
     :: else
     fi;
     if
     :: found[1] -> resume(1)
     :: else
     fi
  :: else
  fi
}
#endif

active proctype alarm()
{
  bool removed;
  do
  :: atomic { alarm_set && !alarms -> alarms = true };
     assert(record[0]);
     alarm_set = false;
     lock(bucket);
     assert(record[0]);
#ifdef TWICE
     if
     :: record[0] && !queued[0] && !ended[0] && ended_by[0] != NOTHING -> resumers++; removed = true
     :: else
     fi;
#endif
     if
     :: in_lot[0] -> remove(0, TIME); removed = true
     :: !in_lot[0] && ended_by[0] == NOTHING ->
#ifndef FORGET_TIME
        ended_by[0] = TIME
#endif
     :: else
     fi;
     unlock(bucket);
     unlock(alarms);
     if
     :: removed -> assert(record[0]); resume(0)
     :: else
     fi;
     break
  :: ended[0] -> break
  od
}

#ifdef ABORT
active proctype aborter()
{
  bool found[FIBERS];
  aborted = true;
  lock(bucket);
  if
  :: in_lot[0] -> remove(0, CANCEL); found[0] = true
  :: else
  fi;
  if
  :: in_lot[1] -> remove(1, CANCEL); found[1] = true
  :: else
  fi;
  unlock(bucket);
  if
  :: found[0] -> resume(0)
  :: else
  fi;
  if
  :: found[1] -> resume(1)
  :: else
  fi
}
#endif

active proctype stopper()
{
  all_ended;
#ifndef NO_RESUMERS
  resumers == 0;
#endif
  freed = true
}

init
{
#ifdef ONE
  atomic { queued[0] = true; ended[1] = true }
#else
  atomic { queued[0] = true; queued[1] = true }
#endif
}
