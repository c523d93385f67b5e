// SPDX-License-Identifier: BSD-3-Clause
// Late wakes and late time limits of the parking lot: fiber/ws_lot.c, ws_lot_park.c, ws_alarm.c,
// ws_resume.c, sync/ws_latch.c, sync/ws_mutex.c. A fiber and a plain thread wait for a latch. A counter
// makes the latch zero, and wakes the waits for it at any later moment. The fiber and the thread have gone
// on meanwhile: the latch's memory is a mutex, for which both wait, or (AGAIN) another latch. The records
// lie at the same places as before. Waits for a latch are at address + 1, for a mutex at its address; both
// have one bucket. The fiber's waits have a time limit at first, by the alarm thread; the thread's wait for
// the latch has one of its own. A resumed fiber simply goes on: Lot.pml has the stacks and queues.
// Sequentially consistent; each step is one access, or what one hold of a lock makes one step.
//
// Checked: a wait that is over is not woken, and none is woken that is not in the lot. No thread touches
// the record of a wait that has returned. One thread holds the mutex at a time, and a lock returns with it
// unless its time limit is over. A wait for a latch returns when the latch is zero. A wait without a time
// limit does not end by one. Both waiters end (valid end state): no wake is lost.
// Mutants: ONE_ADDRESS (a latch and a mutex are waited for at one address), ANY_ADDRESS (an unpark removes
// every record of its bucket), WAIT_ONCE (a wait for a latch does not look again after a wake), UNLOCKED
// (the alarm thread lets go of its lock before it ends the wait), TAKEN_LATE (may_park() is called although
// the time limit has ended the wait, and takes the mutex), NOT_SETTLED (a time limit still ends the wait
// after may_park() has taken the mutex), SLEEP_ONCE (a thread takes the return of its system call as its
// wake), TIME_ANYHOW (a thread whose time limit is over does not wait for the waker that has removed its
// record), WORD_LAST (a waker reads the record after it has set its word), FORGET_OLD (a wait that ends by
// its time limit stays in the lot).
#define FIBER 0
#define THREAD 1
#define MUTEX 0                 // addresses
#define BRIEF 1                 // ws_lot_brief()
#ifdef ONE_ADDRESS
#define LATCH MUTEX
#else
#define LATCH BRIEF
#endif
mtype = { NOTHING, WAKE, TIME }

bool bucket, alarms;            // locks
bool latch_open;                // the latch of the first use of the memory
bool reused;                    // the memory is the mutex, or the second latch
bool left;                      // the thread uses the first latch no more
bool locked, waited;            // the mutex's word
byte holders;
bool again_open;                // the second latch
// Records, one for each waiter.
bool exists[2], in_lot[2];
byte address[2];
bool settled[2];                // ended_by is NEEDLESS: a time limit does not end the wait any more
mtype ended_by[2] = NOTHING;
bool resumed;                   // the fiber's task was pushed
bool woken;                     // the thread's word, in its record
bool sleeps;                    // the thread is in its system call
bool alarm_set;                 // of the fiber's wait
bool limit[2];                  // the present wait has a time limit
byte ended;

inline lock(which) { atomic { !which -> which = true } }
inline unlock(which) { which = false }

// Under the lock of the bucket: remove_by() of ws_lot.c.
inline remove(i, why)
{
  atomic {
    assert(exists[i] && in_lot[i] && (why == WAKE || limit[i]));
    in_lot[i] = false;
    ended_by[i] = why
  }
}

// ws_resume(). The store of the word lets the thread go on: its record may be gone, and another be there.
inline resume(i)
{
  if
  :: i == FIBER -> atomic { assert(exists[FIBER] && !resumed); resumed = true }
  :: else ->
     atomic { assert(exists[THREAD] && ended_by[THREAD] != NOTHING && !woken); woken = true };
#ifdef WORD_LAST
     assert(exists[THREAD] && ended_by[THREAD] == WAKE);
#endif
     sleeps = false             // the wake by address, also if another wait sleeps there now
  fi
}

#define IS_AT(i, where) (in_lot[i] && (address[i] == where || ANY))
#ifdef ANY_ADDRESS
#define ANY true
#else
#define ANY false
#endif

// ws_lot_unpark() of all waits for the latch.
inline unpark_all()
{
  lock(bucket);
  if
  :: IS_AT(FIBER, LATCH) -> remove(FIBER, WAKE); found[FIBER] = true
  :: else
  fi;
  if
  :: IS_AT(THREAD, LATCH) -> remove(THREAD, WAKE); found[THREAD] = true
  :: else
  fi;
  unlock(bucket);
  if
  :: found[FIBER] -> found[FIBER] = false; resume(FIBER)
  :: else
  fi;
  if
  :: found[THREAD] -> found[THREAD] = false; resume(THREAD)
  :: else
  fi
}

// may_park() under the lock of the bucket: is_counting() of the latch, is_locked() of the mutex.
inline may_park(where, again)
{
  atomic {
    if
    :: where == LATCH && !again && !reused -> waits = !latch_open
    :: where == LATCH && again -> waits = !again_open
    :: else ->
       waits = locked;
       waited = waited || locked;
       locked = true
    fi
  }
}

// ws_lot_end() under the lock of the alarms. removed: out
inline end_by_time(i, removed)
{
  lock(bucket);
  if
  :: ended_by[i] == NOTHING && !settled[i] && in_lot[i] ->
     removed = true;
#ifdef FORGET_OLD
     ended_by[i] = TIME
#else
     remove(i, TIME)
#endif
  :: ended_by[i] == NOTHING && !settled[i] && !in_lot[i] -> ended_by[i] = TIME; removed = false
  :: else -> removed = false
  fi;
  unlock(bucket)
}

// block() of ws_lot_park.c: the system call may return because of a wake, the time limit, or for no reason.
inline block()
{
  do
  :: woken -> break
  :: else ->
     atomic {
       if
       :: !woken -> sleeps = true
       :: else
       fi
     };
     if
     :: !sleeps ->
#ifdef SLEEP_ONCE
        break
#else
        skip
#endif
     :: limit[THREAD] ->
        sleeps = false;
        end_by_time(THREAD, gone);
        if
        :: gone -> break
        :: else
        fi;
#ifdef TIME_ANYHOW
        break
#else
        atomic { woken -> break }      // each further call of the system returns at once
#endif
     fi
  od
}

// ws_lot_park(), ws_lot_enter(). result: out, NOTHING = may_park() was false
inline park(me, where, again, limited)
{
  atomic {
    assert(!in_lot[me]);
    exists[me] = true; address[me] = where; ended_by[me] = NOTHING; limit[me] = limited;
    settled[me] = false;
    if
    :: me == THREAD -> woken = false
    :: else
    fi
  };
  if
  :: me == FIBER && limited -> lock(alarms); alarm_set = true; unlock(alarms)      // ws_alarm_add()
  :: else
  fi;
  lock(bucket);
#ifdef TAKEN_LATE
  may_park(where, again);
  waits = waits && ended_by[me] == NOTHING;
#else
  if
  :: ended_by[me] == NOTHING -> may_park(where, again)
  :: else -> waits = false
  fi;
#endif
  in_lot[me] = waits;
#ifndef NOT_SETTLED
  settled[me] = !waits;
#endif
  unlock(bucket);
  if
  :: !waits
  :: waits && me == FIBER -> atomic { resumed -> resumed = false }
  :: waits && me == THREAD -> block()
  fi;
  if
  :: me == FIBER && limited -> lock(alarms); alarm_set = false; unlock(alarms)     // ws_alarm_remove()
  :: else
  fi;
  atomic {
    result = ended_by[me];
    assert(result != TIME || limited);
    exists[me] = false
  }
}

// ws_latch_wait_until(). opened: the latch's word
inline latch_wait(me, opened, again, limited)
{
  result = NOTHING;
  do
  :: opened || result == TIME -> break
  :: else ->
     park(me, LATCH, again, limited);
#ifdef WAIT_ONCE
     break
#endif
  od;
  assert(opened || result == TIME)
}

// ws_mutex_lock_until(). result: out, TIME = not locked
inline mutex_lock(me, limited)
{
  atomic {                      // trylock
    if
    :: !locked && !waited -> locked = true; result = WAKE
    :: else -> result = TIME
    fi
  };
  if
  :: result == TIME -> park(me, MUTEX, false, limited)
  :: else
  fi;
  if
  :: result != TIME -> atomic { holders++; assert(holders == 1 && locked) }
  :: else
  fi
}

// ws_mutex_unlock(), hand_over(). you: the other waiter
inline mutex_unlock(you)
{
  holders--;
  atomic {
    if
    :: !waited -> locked = false; waits = false
    :: else -> waits = true
    fi
  };
  if
  :: waits ->
     lock(bucket);
     if
     :: IS_AT(you, MUTEX) -> remove(you, WAKE); found[you] = true
     :: else
     fi;
     atomic { locked = found[you]; waited = false };
     unlock(bucket);
     if
     :: found[you] -> found[you] = false; resume(you)
     :: else
     fi
  :: else
  fi
}

active proctype fiber()
{
  bool waits, gone, found[2];
  mtype result;
  latch_wait(FIBER, latch_open, false, true);
  if
  :: result == TIME -> latch_wait(FIBER, latch_open, false, false)
  :: else
  fi;
  left;
  reused = true;                // no other thread uses the latch; its last wake may be still to come
#ifdef AGAIN
  again_open = true;            // ws_latch_count_down()
  unpark_all();
#else
  mutex_lock(FIBER, true);
  if
  :: result == TIME -> mutex_lock(FIBER, false)
  :: else
  fi;
  mutex_unlock(THREAD);
#endif
  ended++
}

active proctype thread()
{
  bool waits, gone, found[2];
  mtype result;
  latch_wait(THREAD, latch_open, false, true);
  left = true;
  reused;
#ifdef AGAIN
  latch_wait(THREAD, again_open, true, false);
#else
  mutex_lock(THREAD, false);
  mutex_unlock(FIBER);
#endif
  ended++
}

// ws_latch_count_down()
active proctype counter()
{
  bool found[2];
  latch_open = true;
  unpark_all()
}

// end_due() of ws_alarm.c. A cancel takes the same steps, under its token's lock.
active proctype alarm()
{
  bool removed;
  do
  :: atomic { alarm_set && !alarms -> alarms = true };
     alarm_set = false;
#ifdef UNLOCKED
     unlock(alarms);
#endif
     assert(exists[FIBER]);
     end_by_time(FIBER, removed);
#ifndef UNLOCKED
     unlock(alarms);
#endif
     if
     :: removed -> removed = false; resume(FIBER)
     :: else
     fi
  :: ended == 2 -> break
  od
}
