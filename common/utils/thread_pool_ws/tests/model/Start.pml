// SPDX-License-Identifier: BSD-3-Clause
// The start of a pool (setup/ws_start.c, ws_guard_start of sleep/ws_guard.c): each worker sets itself up and
// adds one to started; the creator waits for all of them, finishes the pool, starts the watchdog thread, waits
// until that has added its bit, and releases the workers by a further addition. All sleep on the same word.
// Either wait of the creator may end before: it goes on without the watchdog, and marks as late each worker
// that has not started. The worker's word start decides which of the two came first. The end of the pool waits
// for all workers.
// Sequentially consistent: the orders of the accesses are checked by handover.c.
//
// Checked: the creator reads only what workers have written, a worker begins only after the pool is finished,
// a worker counts as blocked from the moment it is marked until it starts, and all threads get there (valid
// end state).
// Mutants: COUNT_EARLY (a worker counts before it is set up), RELEASE_EARLY (before the pool is finished),
// LOAD_ADD (an addition is a load and a store), WAKE_ONE (an addition wakes one of the sleepers),
// NO_WAKE (the watchdog thread wakes no thread), SLEEP_BLIND (the sleep does not compare the word),
// BLIND_MARK (the creator marks a worker without a look whether it has started), END_EARLY (the end of the
// pool does not wait for late workers).
#define WORKERS 2
#define GUARD 4          // in started, beside the number of workers
#define RELEASED 8       // more than all the additions of before
mtype = { BEGINS, LATE, DONE }
byte started;
mtype start[WORKERS];
short blocked;
bool set_up[WORKERS], finished, watched;
byte ended;
bool sleeps[WORKERS + 1]; // the creator is the last one

inline add(count, wakes)
{
#ifdef LOAD_ADD
  read = started;
  started = read + count;
#else
  started = started + count;
#endif
  atomic {
    if
    :: wakes ->
#ifdef WAKE_ONE
       if
       :: sleeps[0] -> sleeps[0] = false
       :: sleeps[1] -> sleeps[1] = false
       :: sleeps[WORKERS] -> sleeps[WORKERS] = false
       :: else
       fi
#else
       sleeps[0] = false; sleeps[1] = false; sleeps[WORKERS] = false
#endif
    :: else
    fi
  }
}

// Sleep if started is still @p seen.
inline sleep(me)
{
  atomic {
    if
#ifdef SLEEP_BLIND
    :: true -> sleeps[me] = true
#else
    :: started == seen -> sleeps[me] = true
    :: else
#endif
    fi
  };
  !sleeps[me]
}

inline wait_for(me, target)
{
  do
  :: seen = started;
     if
     :: seen >= target -> break
     :: else -> sleep(me)
     fi
  od
}

proctype worker(byte me)
{
  byte seen, read;
  mtype was;
#ifdef COUNT_EARLY
  add(1, true);
  set_up[me] = true;
#else
  set_up[me] = true;
  atomic { was = start[me]; start[me] = DONE };
  if
  :: was == LATE -> blocked--
  :: else
  fi;
  add(1, true);
#endif
  wait_for(me, RELEASED);
  assert(finished && start[me] == DONE);
  ended++
}

proctype guard()
{
  byte read;
  watched = true;
#ifdef NO_WAKE
  add(GUARD, false)
#else
  add(GUARD, true)
#endif
}

// Mark a worker as late, unless it has started.
inline leave_behind(me)
{
  blocked++;
#ifdef BLIND_MARK
  start[me] = LATE
#else
  atomic {
    if
    :: start[me] == BEGINS -> start[me] = LATE
    :: else -> blocked--; assert(set_up[me])
    fi
  }
#endif
}

init {
  byte seen, read, i;
  atomic {
    for (i : 0 .. WORKERS - 1) { start[i] = BEGINS }
    for (i : 0 .. WORKERS - 1) { run worker(i) }
  }
  do
  :: seen = started;
     if
     :: seen >= WORKERS -> break
     :: seen < WORKERS -> sleep(WORKERS)
     :: seen < WORKERS -> break // the limit is over
     fi
  od;
  for (i : 0 .. WORKERS - 1) { leave_behind(i) }
#ifdef RELEASE_EARLY
  add(RELEASED, true);
#endif
  run guard();
  do
  :: seen = started;
     if
     :: seen & GUARD -> break
     :: !(seen & GUARD) -> sleep(WORKERS)
     :: !(seen & GUARD) -> break // the limit is over
     fi
  od;
  finished = true;
#ifndef RELEASE_EARLY
  add(RELEASED, true);
#endif
#ifndef END_EARLY
  do
  :: seen = started;
     if
     :: (seen & (GUARD - 1)) == WORKERS -> break
     :: else -> sleep(WORKERS)
     fi
  od;
#endif
  for (i : 0 .. WORKERS - 1) { assert(start[i] == DONE) } // each thread is known, and can be joined
  assert(blocked == 0);
  ended == WORKERS
}
