// SPDX-License-Identifier: BSD-3-Clause
// The end of the interface tpool: its shutdowns, tpool_destroy(), add_blocked() and drop_job() of
// api/tpool.c, api/tpool_room.c, api/private/api_places.h, and what they rely on in core/ws_wait.c
// (ws_pool_stop) and core/ws_push.c. Two threads add two jobs and one, and block while the buffer is full.
// One worker runs the jobs. A thread calls tpool_shutdown_now() at any moment, without dropped(). With NOW
// it passes dropped(), and jobs run until they are asked to end. With BOTH they do, too, each adder has one
// job, and another thread calls tpool_shutdown() meanwhile. With ORDERLY the thread calls tpool_shutdown()
// instead. Then it destroys the pool when no thread uses it, except threads that are blocked in an add.
// Sequentially consistent. A take is one step: Room.pml has its parts. Stop.pml has the stores of the core
// that other threads see late, Idle.pml the wait until all tasks have run.
//
// Checked: at most BUFFER jobs are queued. A shutdown at once returns when every job that was added has run
// or was dropped, with the number of those that were dropped; after that none runs or is dropped. dropped()
// is called once for each of them, one call at a time. After an orderly one every job that was added has run
// when the pool is freed, those of blocked threads too. No thread uses the pool after it was freed. Every
// add and every shutdown returns (valid end state).
// Mutants: CLEAR_SILENT (the clearing wakes no thread), NO_AWAIT (the shutdown does not wait for places),
// AWAIT_SILENT (the shutdown waits without being one of the sleepers), GIVE_FIRST (a drop gives the place
// back before it counts), NO_LATE (a push does not look whether the pool has stopped meanwhile), KEEP_PLACE
// (a refused push keeps its place), LEAVE_EARLY (a blocked thread leaves the room before its push),
// END_ANYHOW (a destroy does not wait for blocked threads); with NOW: DROPPED_LATE (dropped() is known to the
// pool after the stop); with BOTH: CLOSE_OVER (a closing undoes a clearing); with ORDERLY: CLEARS (the
// shutdown clears the room), STOP_FIRST (a destroy stops the core before blocked threads have left).
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
#define OPEN 0                  // closed
#define CLOSED 1
#define CLEARED 2
#define RUNNING 0               // state
#define STOPPING 1
#define STOPPED 2

// The room.
byte taken, given[2];           // given: by the worker, by other threads
byte closed;
byte turns, sleepers;
bool sleeping[3];
// The core.
byte state;
bool aborted, worker_ended;
byte queued[ADDERS];            // each thread's queue
byte pushed, run_count;
// The pool, and what is checked.
bool dropped_set, dropping;
byte drops, calls, ran;
byte refused;                   // adds of threads that were blocked
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
     closed == CLEARED;         // tpool_is_stopping()
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
     refused++;
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
     :: state == STOPPED ->     // ws_run_left()
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
      :: closed != OPEN -> break // the caller calls no more once it has seen -ECANCELED
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
          :: closed == CLEARED -> break
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
       :: else -> refused++
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

// ws_pool_stop(WS_STOP_ABORT), or with WS_STOP_DRAIN
inline stop(aborts)
{
  aborted = aborts;
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

// tpool_room_close()
inline close()
{
  atomic {
    if
#ifdef CLOSE_OVER
    :: closed = CLOSED
#else
    :: closed == OPEN -> closed = CLOSED
    :: else
#endif
    fi
  }
}

// tpool_room_clear()
inline clear()
{
  closed = CLEARED;
#ifndef CLEAR_SILENT
  turns++;
  atomic { sleeping[0] = false; sleeping[1] = false; sleeping[2] = false }
#endif
}

// tpool_shutdown_now()
inline shut_down_now(reports)
{
  clear();
#ifndef DROPPED_LATE
  atomic { !dropping -> dropping = true };
  dropped_set = reports;
  dropping = false;
#endif
  stop(true);
#ifdef DROPPED_LATE
  dropped_set = reports;
#endif
#ifndef NO_AWAIT
  await_empty();
#endif
  atomic {
    returned = true;
    assert(ran + drops == pushed && (!reports || calls == drops) && queued[0] + queued[1] == 0)
  }
}

active proctype stopper()
{
  byte seen, sum, mine;
#ifdef ORDERLY
#ifdef CLEARS
  clear();
#else
  close();
#endif
#else
#if defined(NOW) || defined(BOTH)
  shut_down_now(true);
#else
  shut_down_now(false);
#endif
#endif
  // tpool_destroy(): no thread uses the pool, except blocked ones.
  users == 0;
  close();
#ifdef STOP_FIRST
  stop(false);
#endif
#ifndef END_ANYHOW
  sleepers == 0;                // tpool_room_await_left()
#endif
#ifdef ORDERLY
#ifndef STOP_FIRST
  stop(false);
#endif
  assert(ran == pushed && drops == 0 && refused == 0);
#endif
  freed = true
}

#ifdef BOTH
active proctype second()
{
  close()
}
#endif

init { atomic { run adder(0); run adder(1) } }
