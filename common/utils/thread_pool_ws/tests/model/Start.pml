// SPDX-License-Identifier: BSD-3-Clause
// The start of a pool (setup/ws_start.c, ws_guard_start of sleep/ws_guard.c): each worker sets itself up and
// adds one to started; the creator waits for all of them, finishes the pool, starts the watchdog thread, waits
// until that has added one, and releases the workers by a further addition. All sleep on the same word.
// Sequentially consistent: the orders of the accesses are checked by handover.c.
//
// Checked: the creator reads only what workers have written, a worker begins only after the pool is finished,
// and all threads get there (valid end state).
// Mutants: COUNT_EARLY (a worker counts before it is set up), RELEASE_EARLY (before the pool is finished),
// LOAD_ADD (an addition is a load and a store), WAKE_ONE (an addition wakes one of the sleepers),
// NO_WAKE (the watchdog thread wakes no thread), SLEEP_BLIND (the sleep does not compare the word).
#define WORKERS 2
#define RELEASED 8       // more than all the additions of before
byte started;
bool set_up[WORKERS], finished, watched;
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
#ifdef COUNT_EARLY
  add(1, true);
  set_up[me] = true;
#else
  set_up[me] = true;
  add(1, true);
#endif
  wait_for(me, RELEASED);
  assert(finished && watched)
}

proctype guard()
{
  byte read;
  watched = true;
#ifdef NO_WAKE
  add(1, false)
#else
  add(1, true)
#endif
}

init {
  byte seen, read, i;
  atomic {
    for (i : 0 .. WORKERS - 1) { run worker(i) }
  }
  wait_for(WORKERS, WORKERS);
  for (i : 0 .. WORKERS - 1) { assert(set_up[i]) }
#ifdef RELEASE_EARLY
  add(RELEASED, true);
#endif
  run guard();
  do
  :: seen = started;
     if
     :: seen != WORKERS -> break
     :: else -> sleep(WORKERS)
     fi
  od;
  finished = true;
#ifndef RELEASE_EARLY
  add(RELEASED, true)
#endif
}
