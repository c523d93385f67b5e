// SPDX-License-Identifier: BSD-3-Clause
// Waits that move from a condition variable to its mutex: sync/ws_cond.c, sync/ws_mutex.c, and
// ws_lot_move() of fiber/ws_lot.c. Two waiters lock the mutex and wait until they may go on. A notifier
// allows both to go on and broadcasts, or (SIGNAL) allows one after the other and signals each time. It
// holds the mutex meanwhile, or (OUTSIDE) unlocks it before. The first wait of waiter 0 has a time limit;
// when that is over the waiter waits again, without one. Two buckets, one for the condition variable and
// one for the mutex. A resumed waiter simply goes on: Lot.pml has the stacks and queues. Sequentially
// consistent; each step is one access, or what one hold of a lock makes one step.
//
// Checked: one thread holds the mutex at a time, and a wait of the condition variable returns with it. A
// wait that a signal has moved returns as woken. Fields of a record are used under the lock of its bucket.
// A record is in one bucket, and is resumed once. Every waiter ends (valid end state): no signal and no
// moved wait is lost.
// Mutants: UNLOCK_FIRST (a wait unlocks the mutex before it is in the lot), NO_GRANT (waits move to a free
// mutex, and none wakes), NO_WAITED (the move does not set WAITED), FIRST_ONLY (it does so only
// if the mutex is locked), GRANT_EARLY (the mutex's word changes before the buckets are locked), ONE_LOCK
// (the move locks the bucket of the condition variable only), HAND_ALL (an unlock forgets waits that are
// left), NOT_FIXED (the time limit ends a moved wait), ADDRESS_ONCE (the alarm does not read the address
// again under the lock).
#define WAITERS 2
#define NOTIFIER WAITERS         // its record: it waits for the mutex only
#define RECORDS (WAITERS + 1)
#define COND 0
#define MUTEX 1
mtype = { NOTHING, WAKE, TIME }

bool bucket[2];                 // locks; a bucket has the index of the one address in it
bool alarms;                    // lock
bool locked, waited;            // the word of the mutex
byte holders;                   // of the mutex, as the threads see it
byte allowed;                    // under the mutex: waiters that may go on
// Records.
byte address[RECORDS];
bool exists[RECORDS], in_lot[RECORDS], fixed[RECORDS], resumed[RECORDS], moved[RECORDS];
mtype ended_by[RECORDS] = NOTHING;
bool alarm_set;                 // of waiter 0
byte ended;

inline lock(which) { atomic { !which -> which = true } }
inline unlock(which) { which = false }

// remove_by() of ws_lot.c. Under the lock of the record's bucket.
inline remove(i, why)
{
  atomic {
    assert(exists[i] && in_lot[i] && bucket[address[i]]);
    in_lot[i] = false;
    ended_by[i] = why
  }
}

// ws_resume() of ws_resume.c. After it the record may be gone.
inline resume(i) { atomic { assert(exists[i] && !in_lot[i] && !resumed[i]); resumed[i] = true } }

#define IS_AT(i, where) (in_lot[i] && address[i] == where)

// which: out, any wait at that address, of which the code takes the oldest; RECORDS if there is none
inline first_of(where, which)
{
  atomic {
    if
    :: IS_AT(0, where) -> which = 0
    :: IS_AT(1, where) -> which = 1
    :: IS_AT(2, where) -> which = 2
    :: else -> which = RECORDS
    fi
  }
}

#define IN_AT(where) (IS_AT(0, where) + IS_AT(1, where) + IS_AT(2, where))

// ws_mutex_lock(): trylock, then lock_slow() and is_locked() under the lock of the bucket.
inline mutex_lock(me)
{
  atomic {
    if
    :: !locked && !waited -> locked = true; got = true
    :: else -> got = false
    fi
  };
  if
  :: got
  :: else ->
     atomic { exists[me] = true; address[me] = MUTEX; fixed[me] = false; ended_by[me] = NOTHING };
     lock(bucket[MUTEX]);
     atomic {                                     // is_locked(): one CAS
       if
       :: locked -> waited = true
       :: else -> locked = true; got = true
       fi
     };
     if
     :: !got -> in_lot[me] = true
     :: else
     fi;
     unlock(bucket[MUTEX]);
     if
     :: !got -> atomic { resumed[me] -> resumed[me] = false }; assert(ended_by[me] == WAKE)
     :: else
     fi;
     exists[me] = false
  fi;
  atomic { holders++; assert(holders == 1 && locked) }
}

// ws_mutex_unlock(), and hand_over() under the lock of the bucket.
inline mutex_unlock()
{
  holders--;
  atomic {
    if
    :: locked && !waited -> locked = false; got = true
    :: else -> got = false
    fi
  };
  if
  :: got
  :: else ->
     lock(bucket[MUTEX]);
     first_of(MUTEX, other);
     if
     :: other < RECORDS -> remove(other, WAKE)
     :: else
     fi;
     atomic {
       locked = (other < RECORDS);
#ifdef HAND_ALL
       waited = false
#else
       waited = (IN_AT(MUTEX) > 0)
#endif
     };
     unlock(bucket[MUTEX]);
     if
     :: other < RECORDS -> resume(other)
     :: else
     fi
  fi
}

// What the thread of a fiber does when that fiber may run again already. A thread that waits does the same
// itself.
proctype unlocker()
{
  byte other;
  bool got;
  mutex_unlock()
}

// ws_cond_wait_until(), ws_lot_park_then() and ws_lot_enter(). The mutex is the caller's before and after.
inline cond_wait(me, limit)
{
#ifdef UNLOCK_FIRST
  mutex_unlock();
#endif
  atomic {
    exists[me] = true; address[me] = COND; fixed[me] = false; moved[me] = false; ended_by[me] = NOTHING
  };
  if
  :: limit -> lock(alarms); alarm_set = true; unlock(alarms)      // ws_alarm_add()
  :: else
  fi;
  lock(bucket[COND]);
  parks = (ended_by[me] == NOTHING);
  if
  :: parks -> in_lot[me] = true
  :: else
  fi;
  unlock(bucket[COND]);
#ifndef UNLOCK_FIRST
  if
  :: parks -> run unlocker()
  :: else -> mutex_unlock()
  fi;
#endif
  if
  :: parks -> atomic { resumed[me] -> resumed[me] = false }
  :: else
  fi;
  if
  :: limit -> lock(alarms); alarm_set = false; unlock(alarms)     // ws_alarm_remove()
  :: else
  fi;
  atomic {
    result = ended_by[me];
    assert(!moved[me] || result == WAKE);
    exists[me] = false
  };
  if
  :: result == WAKE -> atomic { holders++; assert(holders == 1 && locked) }   // the mutex was handed over
  :: else -> mutex_lock(me)
  fi
}

proctype waiter(byte me)
{
  byte other;
  bool got, parks, limit = (me == 0);
  mtype result;
  mutex_lock(me);
  do
  :: allowed > 0 -> allowed--; break
  :: else -> cond_wait(me, limit); limit = false
  od;
  mutex_unlock();
  ended++
}

// ws_lot_move(), and grant() under the locks of both buckets.
inline move(count)
{
  found = 0; wakes = false;
#ifdef GRANT_EARLY
  atomic { wakes = !locked; waited = true; locked = true };
#endif
  lock(bucket[COND]);
#ifndef ONE_LOCK
  lock(bucket[MUTEX]);
#endif
  found = (IN_AT(COND) < count -> IN_AT(COND) : count);
#ifndef GRANT_EARLY
  if
  :: found > 0 ->
     atomic {                                     // one CAS
#ifndef NO_GRANT
       wakes = !locked;
#endif
#ifndef NO_WAITED
#ifdef FIRST_ONLY
       waited = waited || locked;
#else
       waited = waited || locked || found > 1;
#endif
#endif
#ifndef NO_GRANT
       locked = true
#endif
     }
  :: else
  fi;
#endif
  woken = RECORDS;
  do
  :: found > 0 ->
     found--;
     first_of(COND, other);
     if
     :: wakes -> remove(other, WAKE); woken = other; wakes = false
     :: else ->
        in_lot[other] = false;
        atomic {
          address[other] = MUTEX; moved[other] = true;
#ifndef NOT_FIXED
          fixed[other] = true;
#endif
        };
        in_lot[other] = true
     fi
  :: else -> break
  od;
#ifndef ONE_LOCK
  unlock(bucket[MUTEX]);
#endif
  unlock(bucket[COND]);
  if
  :: woken < RECORDS -> resume(woken)
  :: else
  fi
}

#ifdef SIGNAL
#define TIMES WAITERS
#define ADDED 1
#else
#define TIMES 1
#define ADDED WAITERS
#endif

active proctype notifier()
{
  byte me = NOTIFIER;
  byte found, woken, other, i;
  bool got, wakes;
  for (i : 1 .. TIMES) {
    mutex_lock(me);
    allowed = allowed + ADDED;
#ifdef OUTSIDE
    mutex_unlock();
    move(ADDED)
#else
    move(ADDED);
    mutex_unlock()
#endif
  }
  ended++
}

// end_due() of ws_alarm.c, ws_lot_end() and lock_bucket_of() of ws_lot.c. A cancel takes the same steps,
// under its token's lock.
active proctype alarm()
{
  byte where;
  bool removed;
  do
  :: atomic { alarm_set && !alarms -> alarms = true };
     alarm_set = false;
     do
     :: where = address[0];
        lock(bucket[where]);
        if
#ifdef ADDRESS_ONCE
        :: true -> break
#else
        :: address[0] == where -> break
        :: else -> unlock(bucket[where])
#endif
        fi
     od;
     assert(exists[0] && bucket[address[0]] && address[0] == where);
     if
     :: ended_by[0] == NOTHING && !fixed[0] && in_lot[0] -> remove(0, TIME); removed = true
     :: ended_by[0] == NOTHING && !fixed[0] && !in_lot[0] -> ended_by[0] = TIME
     :: else
     fi;
     unlock(bucket[where]);
     unlock(alarms);
     if
     :: removed -> resume(0)
     :: else
     fi;
     break
  :: ended == RECORDS -> break
  od
}

init
{
  byte i;
  atomic { for (i : 0 .. WAITERS - 1) { run waiter(i) } }
}
