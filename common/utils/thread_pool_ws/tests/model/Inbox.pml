// SPDX-License-Identifier: BSD-3-Clause
// The inbox of a worker that waits: tasks/ws_inbox.c, core/ws_push.c (hand_over), core/ws_deal.c, core/ws_join.c
// (help_handed). Two workers open their inboxes, each in one of two masks, and shut them again. Two threads
// claim workers, one or both at once, with one read-modify-write. They fill an inbox, and keep the other claim
// for the next task or decline it. One of them takes tasks back that were not begun, as a join does. The task
// itself is a plain word, which is read and written in steps of its own.
//
// To keep the model small a fill that comes too late is tried again with the next worker of the claim only,
// the second thread has one task, the second worker uses one mask, and only the first one waits again after it
// has given up.
//
// Checked: one thread at a time uses the plain word; each task runs once, and none is lost; a worker that
// opens has no bit; a worker gives up only if a thread has claimed it; no inbox stays claimed at the end.
// Mutants: OPEN_ANYHOW (the worker opens again though it has given up), FILL_BLIND (the fill does not look
// whether the worker has given up), MOVES (an open inbox gets its bit in another mask, and the old one
// stays), KEPT_NOT (the worker takes the task without a change of the state), AGAIN (the claim is a look
// and a store), NO_DECLINE (a thread forgets the rest of its claim), DECLINE_GIVEN_UP (a thread declines a
// worker that has given up, and leaves its inbox so).
#define AWAY 0
#define WAITING 1
#define FULL 2
#define KEPT 3
#define TAKEN 4
#define GIVEN_UP 5
#define VOID 6
#define TASKS (2 - _pid)      // of each thread that claims
#define WORKERS 2

#ifdef OPEN_ANYHOW
#define OPENS (state[w] == AWAY || state[w] == GIVEN_UP)
#else
#define OPENS (state[w] == AWAY)
#endif
#define BIT(w) (1 << (w))

byte state[WORKERS], mask[WORKERS]; // mask: the one that has, or had, the worker's bit
byte bits[2];                // the masks
byte task[WORKERS];          // plain
bool used[WORKERS];          // a thread reads or writes the plain word
byte fills[WORKERS];
byte claims[WORKERS];        // threads that have claimed the worker, and have not filled or declined yet
byte ran, ended, workers_ended;

inline use(w) { atomic { assert(!used[w]); used[w] = true } }
inline finish(what) { atomic { assert((ran & (1 << (what))) == 0); ran = ran | (1 << (what)) } }
inline next()
{
  atomic { w = (claim & 1 -> 0 : 1); claim = claim & (3 - BIT(w)) }
}
inline release()
{
  atomic { state[w] = AWAY; claims[w]-- }
}

inline decline_all()
{
  do
  :: claim != 0 ->
     next();
#if defined(NO_DECLINE)
     claims[w]--
#elif defined(DECLINE_GIVEN_UP)
     atomic { claims[w]--; state[w] = (state[w] == WAITING -> AWAY : state[w]) }
#else
     release()
#endif
  :: claim == 0 -> break
  od
}

active [2] proctype outside()
{
  byte i, mine, in, wanted, claim, w, before, seen;
  bool taken;
  for (i : 0 .. TASKS - 1) {
    mine = i + 2 * _pid;
    if
    :: claim == 0 ->
       if
       :: in = 0
       :: in = 1
       fi;
       wanted = bits[in];
       if
       :: wanted == 3 -> wanted = 1
       :: true
       fi;
#ifdef AGAIN
       claim = bits[in] & wanted;
       atomic {
         bits[in] = bits[in] & (3 - wanted);
#else
       atomic {
         claim = bits[in] & wanted;
         bits[in] = bits[in] & (3 - wanted);
#endif
         claims[0] = claims[0] + (claim & 1);
         claims[1] = claims[1] + (claim >> 1)
       }
    :: else
    fi;
    do
    :: claim == 0 ->
       finish(mine);         // in the thread's own queue
       break
    :: claim != 0 ->
       next();
       use(w);
       task[w] = mine;
       used[w] = false;
       atomic {
         before = state[w];
         fills[w]++;
         assert(before == WAITING || before == GIVEN_UP);
         if
         :: before == WAITING -> state[w] = FULL; claims[w]--
         :: else -> state[w] = VOID
         fi
       };
       if
       :: before == GIVEN_UP ->
          release();
#ifdef FILL_BLIND
          break
#endif
       :: else -> break
       fi
    od;
    if
    :: decline_all()
    :: true
    fi;
    taken = false;
    if
    :: _pid == 0 ->
       if
       :: w = 0
       :: w = 1
       fi;
       if
       :: state[w] == FULL ->
          seen = fills[w];
          atomic {
            if
            :: state[w] == FULL && fills[w] == seen -> state[w] = TAKEN; taken = true
            :: else
            fi
          };
          if
          :: taken ->
             use(w);
             seen = task[w];
             used[w] = false;
             finish(seen);
             state[w] = AWAY
          :: else
          fi
       :: true
       fi
    :: else
    fi;
    atomic { w = 0; before = 0; seen = 0; taken = false; wanted = 0; in = 0 }
  };
  decline_all();
  ended++
}

// The worker shuts its inbox, which is open.
inline shut()
{
  mine = false;
  do
  :: atomic { state[w] == FULL ->
#ifndef KEPT_NOT
       state[w] = KEPT
#endif
     };
     use(w);
     what = task[w];
     used[w] = false;
     finish(what);
     what = 0;
     state[w] = AWAY;
     break
  :: state[w] != FULL && state[w] != WAITING -> break
  :: atomic { state[w] == WAITING && (bits[mask[w]] & BIT(w)) ->
       bits[mask[w]] = bits[mask[w]] & (3 - BIT(w));
       mine = true
     };
     if
     :: mine -> state[w] = AWAY; break
     fi
  :: atomic { state[w] == WAITING && (bits[mask[w]] & BIT(w)) == 0 ->
       assert(claims[w] > 0);
       state[w] = GIVEN_UP
     };
     break
  od
}

active [WORKERS] proctype worker()
{
  byte w = _pid - 2, what;
  bool mine;
  do
  :: ended == 2 && state[w] != FULL -> break
  :: OPENS ->
     assert(((bits[0] | bits[1]) & BIT(w)) == 0);
     if
     :: mask[w] = 0
     :: w == 0 -> mask[w] = 1
     fi;
     state[w] = WAITING;
     bits[mask[w]] = bits[mask[w]] | BIT(w);
#ifdef MOVES
     mask[w] = 1 - mask[w];
     bits[mask[w]] = bits[mask[w]] | BIT(w);
#endif
     shut()
  :: atomic { w == 0 && state[w] == GIVEN_UP -> state[w] = WAITING }; // it waits for its claimer again
     shut()
  od;
  assert(state[w] == AWAY);
  atomic {
    workers_ended++;
    assert(workers_ended < WORKERS || ran == 7)
  }
}
