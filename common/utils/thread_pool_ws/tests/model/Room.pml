// SPDX-License-Identifier: BSD-3-Clause
// The room of the interface tpool (api/private/tpool_room.h, api/tpool_room.c). Threads add jobs to a buffer
// and block while it is full; threads that begin jobs give the room back. The list of free numbers is their
// count here; a compare-and-swap of the word fails if "change" has moved. The futex wakes any of the sleepers.
// With CLOSE another thread closes the room at any moment, and no job begins after that.
//
// Checked: at most BUFFER jobs are queued, and every adder returns (valid end state).
// Mutants: NO_SWAP (a thread that finds ASLEEP set sleeps without a change of the word), COUNT_FIRST (a give
// reads sleepers before the word), CLEAR_BLIND (ASLEEP is cleared without a compare), CLEAR_EARLY (a give that
// wakes one thread clears ASLEEP), SEEN_LATE (turns is read after the change of the word), NO_TURN (a wake does not change
// turns), ONE_AT_CLOSE (the closing wakes one thread).
#ifndef ADDERS
#define ADDERS 3
#endif
#ifndef JOBS
#define JOBS 1
#endif
#ifndef BUFFER
#define BUFFER 1
#endif
#ifndef BEGINNERS
#define BEGINNERS 2
#endif
byte free = BUFFER, change;   // the word, with the next two
bool asleep, closed;
byte turns, sleepers, queued, returned;
bool sleeping[ADDERS];

// A change of the word, if it is still that of the change c; else the thread looks again.
#define SWAP(update) atomic { if :: change == c -> update; change++ :: else -> goto again fi }

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
    :: else
    fi
  }
}

inline wake_all()
{
  turns++;
  d_step {
    sleeping[0] = false;
    sleeping[1] = false;
#if ADDERS > 2
    sleeping[2] = false
#endif
  }
}

active [ADDERS] proctype adder()
{
  byte me = _pid;
  byte c, seen, jobs;
  bool none, shut;
  do
  :: jobs == JOBS -> break
  :: jobs < JOBS ->
     jobs++;
     if
     :: atomic { free > 0 && !closed -> free--; change++ }; goto got
     :: sleepers++
     fi;
again:
#ifndef SEEN_LATE
     seen = turns;
#endif
     atomic { c = change; none = free == 0; shut = closed };
     if
     :: shut -> sleepers--; break
     :: !shut && !none -> SWAP(free--); sleepers--
     :: !shut && none ->
#ifdef NO_SWAP
        if
        :: asleep
        :: else -> SWAP(asleep = true)
        fi;
#else
        SWAP(asleep = true);
#endif
#ifdef SEEN_LATE
        seen = turns;
#endif
        if
        :: atomic { turns == seen -> sleeping[me] = true }; !sleeping[me]
        :: turns != seen
        fi;
        goto again
     fi;
got:
     queued++;
     assert(queued <= BUFFER)
  od;
  returned++
}

active [BEGINNERS] proctype beginner()
{
  byte c, count;
  bool may_sleep;
  do
  :: returned == ADDERS || closed -> break
  :: atomic { queued > 0 && !closed -> queued-- };
     atomic {
       may_sleep = asleep;
#ifdef CLEAR_EARLY
       asleep = false;
#endif
       free++;
       change++
     };
     if
     :: may_sleep ->
#ifdef COUNT_FIRST
        count = sleepers;
        c = change;
#else
        c = change;
        count = sleepers;
#endif
        if
        :: count > 0 -> wake_one()
        :: count == 0 ->
#ifdef CLEAR_BLIND
           atomic { asleep = false; change++ }
#else
           atomic { if :: change == c -> asleep = false; change++ :: else fi }
#endif
        fi
     :: else
     fi
  od
}

#ifdef CLOSE
active proctype closer()
{
  atomic { closed = true; change++ };
#ifdef ONE_AT_CLOSE
  wake_one()
#else
  wake_all()
#endif
}
#endif
