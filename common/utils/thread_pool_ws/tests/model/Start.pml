// SPDX-License-Identifier: BSD-3-Clause
// The start of a pool (setup/ws_start.c, sleep/ws_guard.c): the creator makes the watchdog thread and the
// workers; the system may refuse the last ones. Each worker sets itself up and adds one to started; the
// creator waits for all that it has made, finishes the pool, releases all threads by a further addition, and
// waits until the watchdog has added its bit. All sleep on the same word. Either wait of the creator may end
// before: it goes on without the watchdog, and marks as behind each worker that has not started, and each that
// has no thread. The watchdog makes the latter as soon as the system grants it, unless the pool is being
// stopped. The worker's word start decides which of the two came first. The end of the pool waits for the
// watchdog, then for all workers.
// Sequentially consistent: the orders of the accesses are checked by handover.c.
//
// Checked: the creator reads only what workers have written, a thread begins only after the pool is finished,
// a worker counts as blocked from the moment it is marked until it starts, and all threads get there (valid
// end state).
// Mutants: COUNT_EARLY (a worker counts before it is set up), RELEASE_EARLY (before the pool is finished),
// LOAD_ADD (an addition is a load and a store), WAKE_ONE (an addition wakes one of the sleepers),
// NO_WAKE (the watchdog thread wakes no thread), SLEEP_BLIND (the sleep does not compare the word),
// BLIND_MARK (the creator marks a worker without a look whether it has started), END_EARLY (the end of the
// pool does not wait for workers that are behind), GUARD_LAST (nor for the watchdog before the workers).
#define WORKERS 2
#define GUARD 4          // in started, beside the number of workers
#define RELEASED 8       // more than all the additions of before
mtype = { BEGINS, BEHIND, DONE }
byte started;
mtype start[WORKERS];
short blocked;
bool set_up[WORKERS], finished, stops, watchdog_ended;
byte obtained, ended;
bool sleeps[WORKERS + 2]; // the last ones: the creator, the watchdog

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
       :: sleeps[WORKERS + 1] -> sleeps[WORKERS + 1] = false
       :: else
       fi
#else
       sleeps[0] = false; sleeps[1] = false; sleeps[WORKERS] = false; sleeps[WORKERS + 1] = false
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
  :: was == BEHIND -> blocked--
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
  byte seen, read;
  wait_for(WORKERS + 1, RELEASED);
  assert(finished);
#ifdef NO_WAKE
  add(GUARD, false);
#else
  add(GUARD, true);
#endif
  do
  :: obtained < WORKERS && !stops -> // or the system still refuses one
     run worker(obtained);
     obtained++
  :: stops -> break
  od;
  watchdog_ended = true
}

// Mark a worker as behind, unless it has started.
inline leave_behind(me)
{
  blocked++;
#ifdef BLIND_MARK
  start[me] = BEHIND
#else
  atomic {
    if
    :: start[me] == BEGINS -> start[me] = BEHIND
    :: else -> blocked--; assert(set_up[me])
    fi
  }
#endif
}

init {
  byte seen, read, i, made;
  atomic {
    for (i : 0 .. WORKERS - 1) { start[i] = BEGINS };
    run guard();
    do
    :: made < WORKERS -> run worker(made); made++
    :: break
    od;
    obtained = made
  }
  do
  :: seen = started;
     if
     :: seen >= made -> break
     :: seen < made -> sleep(WORKERS)
     :: seen < made -> break // the limit is over
     fi
  od;
  for (i : 0 .. WORKERS - 1) { leave_behind(i) }
#ifdef RELEASE_EARLY
  add(RELEASED, true);
#endif
  finished = true;
#ifndef RELEASE_EARLY
  add(RELEASED, true);
#endif
  do
  :: seen = started;
     if
     :: seen & GUARD -> break
     :: !(seen & GUARD) -> sleep(WORKERS)
     :: !(seen & GUARD) -> break // the limit is over
     fi
  od;
  stops = true;
#ifndef GUARD_LAST
  watchdog_ended;
#endif
  made = obtained;
#ifndef END_EARLY
  do
  :: seen = started;
     if
     :: (seen & (GUARD - 1)) == made -> break
     :: else -> sleep(WORKERS)
     fi
  od;
#endif
  for (i : 0 .. WORKERS - 1) {
    if
    :: i < made -> assert(start[i] == DONE) // each thread is known, and can be joined
    :: else
    fi
  };
  watchdog_ended;
  assert(blocked == WORKERS - made);
  ended == made
}
