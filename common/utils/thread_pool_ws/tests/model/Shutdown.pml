// SPDX-License-Identifier: BSD-3-Clause
// The end of the interface tpool: shut_down(), tpool_destroy(), add_blocked() and drop_job() of
// api/tpool.c, api/tpool_room.c, api/private/api_places.h, and what they rely on in core/ws_wait.c
// (ws_pool_stop) and core/ws_push.c. Two threads add two jobs and one, and block while the buffer is full.
// One worker runs the jobs. A thread calls tpool_shutdown() at any moment. With NOW it calls
// tpool_shutdown_now(), and jobs run until they are asked to end. With BOTH they do, too, each adder has
// one job, and another thread calls tpool_shutdown_now() meanwhile. The first of these threads destroys the
// pool when no thread uses it, except threads that are blocked in an add. Sequentially consistent. A take
// is one step: Room.pml has its parts. Stop.pml has the stores of the core that other threads see late,
// Idle.pml the wait until all tasks have run.
//
// Checked: at most BUFFER jobs are queued. A shutdown returns when every job that was added has run or was
// dropped, with the number of those that were dropped; after that none runs or is dropped. dropped() is
// called once for each of them, one call at a time. No thread uses the pool after it was freed. Every add
// and every shutdown returns (valid end state).
// Mutants: CLOSE_SILENT (the closing wakes no thread), NO_AWAIT (the shutdown does not wait for places),
// AWAIT_SILENT (the shutdown waits without being one of the sleepers), GIVE_FIRST (a drop gives the place
// back before it counts), NO_LATE (a push does not look whether the pool has stopped meanwhile), KEEP_PLACE
// (a refused push keeps its place), LEAVE_EARLY (a blocked thread leaves the room before its push),
// END_ANYHOW (the room's end does not wait for blocked threads); with NOW: NOT_ASKED (running jobs are not
// asked to end), DROPPED_LATE (dropped() is known to the pool after the stop); with BOTH: ASK_FIRST (the
// second shutdown returns -EALREADY and does not ask).
#define BUFFER 1
#ifdef BOTH
#define JOBS(me) 1
#else
#define JOBS(me) (me == 0 -> 2 : 1)
#endif
#if defined(NOW) || defined(BOTH)
#define LONG                    // a job runs until it is asked to end
#endif
#define ADDERS 2
#define STOPPER 2               // the third thread that sleeps in the room
#define RUNNING 0
#define STOPPING 1
#define STOPPED 2

// The room.
byte taken, given[2];           // given: by the worker, by other threads
bool closed;
byte turns, sleepers;
bool sleeping[3];
// The core.
byte state;
bool aborted, worker_ended;
byte queued[ADDERS];            // each thread's queue
byte pushed, run_count;
// The pool, and what is checked.
bool stopping, dropped_set, dropping;
byte drops, calls, ran;
bool returned, freed;           // the shutdown has returned; the memory is gone
byte users;                     // threads in an add that are not blocked

inline use() { assert(!freed) }

inline wake_one()
{
  use();
  turns++;
  atomic {
    if
    :: sleeping[0] -> sleeping[0] = false
    :: sleeping[1] -> sleeping[1] = false
    :: sleeping[2] -> sleeping[2] = false
    :: !sleeping[0] && !sleeping[1] && !sleeping[2]
    fi
  }
}

// tpool_room_give()
inline give(line)
{
  atomic { use(); given[line]++ };
  if
  :: sleepers > 0 -> wake_one()
  :: else
  fi
}

inline futex_wait(i, seen)
{
  atomic {
    if
    :: turns == seen -> sleeping[i] = true
    :: else
    fi
  };
  !sleeping[i]
}

// drop_job(): skipped of the core.
inline drop_job(line)
{
  atomic { !dropping -> dropping = true; assert(!returned) };
#ifdef GIVE_FIRST
  give(line);
#endif
  drops++;
  if
  :: dropped_set -> calls++
  :: else
  fi;
  dropping = false;
#ifndef GIVE_FIRST
  give(line)
#endif
}

// ws_run(), ws_run_late(): a task that a thread has taken.
inline run_task(line)
{
  if
  :: aborted -> drop_job(line)
  :: else ->                    // begin_job()
     give(line);
#ifdef LONG
     stopping;                  // tpool_is_stopping()
#endif
     atomic { assert(!returned); ran++ }
  fi;
  run_count++
}

// ws_pool_push(), then push() of tpool.c.
inline push(me)
{
  use();
  if
  :: state != RUNNING ->        // -ECANCELED
#ifndef KEEP_PLACE
     give(1)
#else
     skip
#endif
  :: else ->
     pushed++;
     atomic { queued[me]++; assert(queued[0] + queued[1] <= BUFFER) };
#ifndef NO_LATE
     if
     :: state == STOPPED ->     // settle_late()
        do
        :: atomic { queued[me] > 0 -> queued[me]-- }; run_task(1)
        :: queued[me] == 0 -> break
        od
     :: else
     fi
#endif
  fi
}

// api_places_take(), in one step.
inline take()
{
  atomic {
    use();
    got = (taken - given[0] - given[1] < BUFFER);
    taken = taken + got
  }
}

// tpool_add() of a thread that is inside no task.
proctype adder(byte me)
{
  byte seen, jobs;
  bool got;
  for (jobs : 1 .. JOBS(me)) {
    atomic {
      if
      :: closed -> break        // the caller calls no more once it has seen -ECANCELED
      :: else -> users++
      fi
    };
    take();
    if
    :: got -> push(me); users--
    :: else ->                  // add_blocked(), tpool_room_wait()
       atomic { use(); sleepers++; users-- };
       do
       :: seen = turns;
          if
          :: closed -> break
          :: else
          fi;
          take();
          if
          :: got -> break
          :: else
          fi;
          futex_wait(me, seen)
       od;
#ifdef LEAVE_EARLY
       atomic { use(); sleepers-- };
#endif
       if
       :: got -> push(me)
       :: else
       fi;
#ifndef LEAVE_EARLY
       atomic { use(); sleepers-- }                      // tpool_room_leave()
#endif
    fi
  }
}

active proctype worker()
{
  do
  :: atomic { queued[0] > 0 -> queued[0]-- };
start:
     run_task(0)
  :: atomic { queued[1] > 0 -> queued[1]-- }; goto start
  :: state == STOPPED -> break
  od;
  worker_ended = true
}

// ws_pool_stop(WS_STOP_ABORT)
inline stop()
{
  aborted = true;
  state = STOPPING;
  do
  :: atomic { run_count == pushed -> break }
  :: atomic { queued[0] > 0 -> queued[0]-- }; run_task(1)
  :: atomic { queued[1] > 0 -> queued[1]-- }; run_task(1)
  od;
  state = STOPPED;
  worker_ended;
  do
  :: atomic { queued[0] > 0 -> queued[0]-- }; run_task(1)
  :: atomic { queued[1] > 0 -> queued[1]-- }; run_task(1)
  :: atomic { queued[0] + queued[1] == 0 -> break }
  od
}

inline await_empty()
{
#ifndef AWAIT_SILENT
  sleepers++;
#endif
  do
  :: seen = turns;
     sum = given[0];
     sum = sum + given[1];
     mine = taken;
     if
     :: mine == sum -> break
     :: else
     fi;
     futex_wait(STOPPER, seen)
  od;
#ifndef AWAIT_SILENT
  sleepers--
#endif
}

// tpool_room_close(). first: out
inline close()
{
  atomic { first = !closed; closed = true };
  if
  :: first ->
#ifdef CLOSE_SILENT
     skip
#else
     turns++;
     atomic { sleeping[0] = false; sleeping[1] = false; sleeping[2] = false }
#endif
  :: else
  fi
}

// now: tpool_shutdown_now(), otherwise tpool_shutdown()
inline shut_down(now)
{
#ifndef NOT_ASKED
#ifndef ASK_FIRST
  if
  :: now -> stopping = true
  :: else
  fi;
#endif
#endif
  close();
  if
  :: first ->
#ifdef ASK_FIRST
     if
     :: now -> stopping = true
     :: else
     fi;
#endif
#ifndef DROPPED_LATE
     atomic { !dropping -> dropping = true };
     dropped_set = now;
     dropping = false;
#endif
     stop();
#ifdef DROPPED_LATE
     dropped_set = now;
#endif
#ifndef NO_AWAIT
     await_empty();
#endif
     atomic {
       returned = true;
       assert(ran + drops == pushed && (!now || calls == drops) && queued[0] + queued[1] == 0)
     }
  :: else                       // -EALREADY
  fi
}

active proctype stopper()
{
  byte seen, sum, mine;
  bool first;
#ifdef NOW
  shut_down(true);
#else
  shut_down(false);
#endif
  // tpool_destroy(): no thread uses the pool, except blocked ones. tpool_room_end() waits for these.
  returned && users == 0;
#ifndef END_ANYHOW
  sleepers == 0;
#endif
  freed = true
}

#ifdef BOTH
active proctype second()
{
  byte seen, sum, mine;
  bool first;
  shut_down(true)
}
#endif

init { atomic { run adder(0); run adder(1) } }
