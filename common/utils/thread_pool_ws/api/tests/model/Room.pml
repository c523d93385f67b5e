// SPDX-License-Identifier: BSD-3-Clause
// The room of the interface tpool (api/private/api_places.h, tpool_room.h, api/tpool_room.c). Threads add jobs
// to a buffer and block while it is full; threads that begin jobs give the places back, each by a count of its
// own. A take that finds the buffer full by given_seen adds up these counts, one after the other. The futex
// wakes any of the sleepers. With CLOSE another thread clears the room at any moment, and no job begins after
// that. Sequentially consistent, as the accesses in question are.
//
// Checked: at most BUFFER jobs are queued. A take fails only if all places were taken at a moment during it.
// Every adder returns (valid end state).
// Mutants: GIVE_LATE (a give reads sleepers before it gives the place back, as without the seq_cst order),
// SLEEP_LATE (a thread looks for a place before it adds itself to sleepers), SEEN_LATE (turns is read after
// that look), NO_TURN (a wake does not change turns), ONE_AT_CLOSE (the clearing wakes one thread), SEEN_MORE
// (given_seen becomes more than the sum), TAKEN_LATE (taken is read after the sum).
#ifndef ADDERS
#define ADDERS 3
#endif
#ifndef JOBS
#define JOBS 1
#endif
#ifndef BUFFER
#define BUFFER 1
#endif
#define BEGINNERS 2
byte taken, given[BEGINNERS], given_seen;
bool closed;
byte turns, sleepers, queued, returned;
bool sleeping[ADDERS];
bool was_full[ADDERS];       // at a moment of the present take

#define IS_FULL (taken - given[0] - given[1] >= BUFFER)

#if ADDERS > 2
#define NONE_SLEEPS (!sleeping[0] && !sleeping[1] && !sleeping[2])
#else
#define NONE_SLEEPS (!sleeping[0] && !sleeping[1])
#endif

inline wake_one()
{
#ifndef NO_TURN
  turns++;
#endif
  atomic {
    if
    :: sleeping[0] -> sleeping[0] = false
    :: sleeping[1] -> sleeping[1] = false
#if ADDERS > 2
    :: sleeping[2] -> sleeping[2] = false
#endif
    :: NONE_SLEEPS
    fi
  }
}

inline note_full()
{
  if
  :: IS_FULL ->
     was_full[0] = true; was_full[1] = true
#if ADDERS > 2
     ; was_full[2] = true
#endif
  :: else
  fi
}

// got: out
inline take()
{
  atomic { was_full[me] = IS_FULL; mine = taken };
  do
  :: sum = given_seen;
     if
     :: mine - sum >= BUFFER ->
        sum = given[0];
        sum = sum + given[1];
#ifdef TAKEN_LATE
        mine = taken;
#endif
#ifdef SEEN_MORE
        given_seen = sum + 1;
#else
        atomic {
          if
          :: sum > given_seen -> given_seen = sum
          :: else
          fi
        };
#endif
        if
        :: mine - sum >= BUFFER -> got = false; break
        :: else
        fi
     :: else
     fi;
     atomic {
       if
       :: taken == mine -> taken++; note_full(); got = true; mine = 255
       :: else -> mine = taken; got = false
       fi
     };
     if
     :: got -> break
     :: else
     fi
  od;
  assert(got || was_full[me])
}

proctype adder(byte me)
{
  byte jobs, mine, sum, seen;
  bool got, counted;
  do
  :: jobs < JOBS && !closed ->
     take();
     if
     :: !got ->
#ifndef SLEEP_LATE
        sleepers++;
#endif
        do
        ::
#ifndef SEEN_LATE
           seen = turns;
#endif
           if
           :: closed -> break
           :: else
           fi;
           take();
           if
           :: got -> break
           :: else
           fi;
#ifdef SLEEP_LATE
           if
           :: !counted -> sleepers++; counted = true
           :: else
           fi;
#endif
#ifdef SEEN_LATE
           seen = turns;
#endif
           atomic {
             if
             :: turns == seen -> sleeping[me] = true
             :: else
             fi
           };
           !sleeping[me]
        od;
#ifdef SLEEP_LATE
        if
        :: counted -> sleepers--; counted = false
        :: else
        fi
#else
        sleepers--
#endif
     :: else
     fi;
     if
     :: got -> atomic { queued++; assert(queued <= BUFFER) }; jobs++
     :: else
     fi
  :: else -> break
  od;
  returned++
}

proctype beginner(byte line)
{
  byte some;
  do
  :: !closed ->
     if
     :: atomic { queued > 0 -> queued-- };
#ifdef GIVE_LATE
        some = sleepers;
        given[line]++;
#else
        given[line]++;
        some = sleepers;
#endif
        if
        :: some > 0 -> wake_one()
        :: else
        fi
     :: returned == ADDERS || closed
     fi;
     if
     :: returned == ADDERS -> break
     :: else
     fi
  :: else -> break
  od
}

#ifdef CLOSE
active proctype closer()
{
  closed = true;
#ifdef ONE_AT_CLOSE
  wake_one()
#else
  turns++;
  atomic {
    sleeping[0] = false; sleeping[1] = false
#if ADDERS > 2
    ; sleeping[2] = false
#endif
  }
#endif
}
#endif

init
{
  byte i;
  atomic {
    for (i : 0 .. ADDERS - 1) { run adder(i) };
    run beginner(0);
    run beginner(1)
  }
}
