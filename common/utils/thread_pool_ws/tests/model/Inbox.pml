// SPDX-License-Identifier: BSD-3-Clause
// The inbox of a worker that waits: tasks/ws_inbox.c, core/ws_push.c (hand_over), wide/ws_dispatch.c,
// core/ws_join.c (help_handed), sleep/ws_idle.c, sleep/ws_guard.c, core/ws_push.c (ws_run_left). Workers
// open their inboxes, each in one of two masks, and shut them again. Two threads reserve workers, one or both
// at once, with one read-modify-write. They fill an inbox, and keep the other one for the next task or
// decline it. One of them takes tasks back that were not begun, as a join does. The task itself is a plain
// word, which is read and written in steps of its own.
//
// Without options the fillers have fences, and there is no guard. A worker runs a long task, or sleeps,
// after it has left an inbox. Then its filler must have kept the task.
// -DLIGHT: the fillers have light fences. A fill stays in the filler's store buffer (pend) until a later
// step. A heavy fence empties the buffers of both fillers, one after the other. The fills of one filler may
// leave its buffer in any order, which is weaker than x86. AWAY does not wait there: only the worker acts on
// it.
// -DGUARD: a guard marks what it sees at two looks and becomes dormant, and a thread takes what is marked.
// -DSTOP: the pool stops, and pushes are under way.
//
// To keep the model small the workers leave inboxes LEAVES times in all, the second worker uses one mask, and
// a word has the number of its fill only while it is FULL. The look before sleep is in a mutant only: a
// worker that sleeps does what one with a long task does.
//
// Checked: one thread at a time reserves an inbox and uses its word; each task runs once, none is lost;
// a thread takes only its own tasks back; a worker has no bit when it opens its inbox; with -DGUARD a guard
// that stays dormant has missed nothing; a state changes only to one that may follow it.
// Mutants:
//   FILL_BLIND       the filler does not look at left after its fill
//   LEFT_LATE        the filler reads left after it has reserved
//   GONE_LATE        the worker sets gone after it has counted itself, and looked
//   NO_LEAVE_LOOK    the worker does not look after it has counted itself
//   LIGHT            without a guard
//   FIRST_BLIND      the filler does not look at left before its fill. It passes: that look saves work
//   NO_STAMP         states that are FULL are alike
//   OPEN_ANYHOW      the worker opens its inbox though it is reserved
//   MOVES            an open inbox gets its bit in another mask, and the old one stays
//   KEPT_NOT         the worker takes the task without a change of the state
//   AGAIN            a thread reserves by a look and a store
//   NO_DECLINE       a thread forgets the rest of what it has reserved
//   NO_PARK_LOOK     the worker sleeps without a look: a task lies in its inbox
//   NO_CALL          GUARD: the filler does not call the guard
//   DORMANT_BLIND    GUARD: the guard does not look when it has become dormant
//   DORMANT_LIGHT    GUARD: the guard's fence is not heavy
//   TAKE_BLIND       GUARD: a thread takes what is marked without a compare-and-swap
//   STOP_LIGHT       STOP: the stop's fence is not heavy
//   NO_STOP_LOOK     STOP: the stop does not look at inboxes
//   NO_LATE_LOOK     STOP: a late pusher does not look at inboxes. It passes: workers end before the stop's
//                    heavy fence. So a fill after that fence sees that its worker has gone
//   NO_LOOKS         STOP: NO_LATE_LOOK, and the filler does not look after its fill
#ifdef NO_LOOKS
#define NO_LATE_LOOK
#define FILL_BLIND
#endif
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef LEAVES
#define LEAVES 1
#endif
#ifndef TASKS
#define TASKS 2              // of the first filler
#endif
#ifndef OTHERS
#define OTHERS 1             // of the second one
#endif
#define ALL ((1 << (TASKS + OTHERS)) - 1)

// A word is a state, and above it the number of the fill.
#define AWAY 0
#define WAITING 1
#define FULL 2
#define KEPT 3
#define TAKEN 4
#define NONE 255
#define STATE(word) ((word) & 7)
#define OWNER(word) (((word) >> 3) & 1)
#define BIT(w) (1 << (w))
#ifdef NO_STAMP
#define FILLED 8
#else
#define FILLED (8 * (2 * own + me))
#endif

byte word[WORKERS];
byte pend[WORKERS] = NONE;   // the filler's store that is in its buffer
bool gone[WORKERS];
byte left;                   // counts as in the code
byte bits[2];                // the masks
byte task[WORKERS];          // plain
byte group[WORKERS];
bool used[WORKERS];          // a thread reads or writes the plain word
bool has_filler[WORKERS];
byte ran, refused, ended, workers_ended;
#ifdef GUARD
byte seen[WORKERS], stuck[WORKERS];
bool dormant, taking;
#endif
#ifdef STOP
bool stopped, stop_ended;
#endif

inline use(w) { atomic { assert(!used[w]); used[w] = true } }
inline unuse(w) { used[w] = false }
inline finish(what) { atomic { assert((ran & (1 << (what))) == 0); ran = ran | (1 << (what)) } }

// Each change of a word's state is one of the table of tasks/ws_inbox.h (ci/lint_states.py compares the two).
#define IS(from, next) (STATE(word[w]) == from && STATE(to) == next)
inline change(w, to)
{
  assert(IS(AWAY, WAITING) || IS(WAITING, FULL) || IS(WAITING, AWAY) || IS(FULL, KEPT) || IS(FULL, TAKEN)
         || IS(KEPT, AWAY) || IS(TAKEN, AWAY));
  word[w] = to
}

// An entry leaves a buffer.
inline drain(v) { change(v, pend[v]); pend[v] = NONE }
inline drain_of(who, v)
{
  if
  :: pend[v] != NONE && OWNER(pend[v]) == who -> drain(v)
  :: else
  fi
}
inline fence_of(who) { d_step { drain_of(who, 0); drain_of(who, WORKERS - 1) } }
inline heavy() { fence_of(0); fence_of(1) }

// Compare-and-swap of a worker's word.
inline move(w, expected, to)
{
  atomic {
    if
    :: word[w] == expected -> change(w, to); moved = true
    :: else -> moved = false
    fi
  }
}

// The caller has moved the word: read the task, be done with the inbox.
inline read_task(w)
{
  use(w);
  atomic { what = task[w]; task[w] = 0; group[w] = 2; unuse(w) };
  d_step { change(w, AWAY) }
}

inline check_end()
{
#if !defined(GUARD) && !defined(STOP)
  assert(!(ended == 2 && workers_ended == WORKERS) || ran == ALL)
#elif defined(STOP)
  assert(!(ended == 2 && stop_ended) || ((ran | refused) == ALL && (ran & refused) == 0))
#else
  skip
#endif
}

active proctype buffers()
{
end:
  do
  :: atomic { pend[0] != NONE -> drain(0) }
#if WORKERS > 1
  :: atomic { pend[1] != NONE -> drain(1) }
#endif
  od
}

// ---- a filler

inline next()
{
  atomic { w = (reserved & 1 -> 0 : 1); reserved = reserved & (3 - BIT(w)) }
}

inline settle()
{
  assert(has_filler[w] && pend[w] == NONE && word[w] == WAITING);
  has_filler[w] = false
}
inline settle_full()
{
  atomic {
    own++;
    assert(own < 16);
    settle();
    filled = FILLED + FULL;
#ifdef LIGHT
    pend[w] = filled
#else
    change(w, filled)
#endif
  }
}
inline settle_away()
{
  atomic { settle(); change(w, AWAY) }
}

inline decline_all()
{
  do
  :: reserved != 0 ->
     next();
#ifdef NO_DECLINE
     has_filler[w] = false
#else
     settle_away()
#endif
  :: reserved == 0 -> break
  od
}

inline has_left()
{
  answer = false;
  if
  :: left != left_before -> answer = gone[w]
  :: else
  fi
}

inline reserve_more()
{
  if
  :: in = 0
  :: in = 1
  fi;
#ifndef LEFT_LATE
  left_before = left;
#endif
#ifdef AGAIN
  reserved = bits[in];
#endif
  atomic {
#ifndef AGAIN
    if
    :: reserved = bits[in]
    :: reserved = bits[in] & 1
    :: reserved = bits[in] & 2
    fi;
#endif
    bits[in] = bits[in] & (3 - reserved);
    assert((reserved & 1) == 0 || !has_filler[0]);
    has_filler[0] = has_filler[0] || (reserved & 1);
#if WORKERS > 1
    assert((reserved & 2) == 0 || !has_filler[1]);
    has_filler[1] = has_filler[1] || (reserved & 2);
#endif
    in = 0
  };
#ifdef LEFT_LATE
  left_before = left;
#endif
}

// given: whether the worker has, or gets, the task
inline give()
{
  next();
#ifdef FIRST_BLIND
  answer = false;
#else
  has_left();
#endif
  if
  :: answer -> settle_away(); given = false
  :: else ->
     use(w);
     atomic { task[w] = mine; group[w] = me; unuse(w) };
     settle_full();
     given = true;
#ifndef FILL_BLIND
     has_left();
     if
     :: answer ->
        atomic { drain_of(me, w) }; // a read-modify-write of the word comes after the store of it
        move(w, filled, TAKEN);
        if
        :: moved -> read_task(w); what = 0; given = false
        :: else
        fi
     :: else
     fi
#endif
  fi;
  atomic {
    answer = false;
    moved = false;
    filled = 0;
    left_before = (reserved == 0 -> 0 : left_before)
  }
}

// ws_inbox_take_any().
inline take_any()
{
  w = 0;
  do
  :: w < WORKERS ->
     filled = word[w];
     if
     :: STATE(filled) == FULL ->
        move(w, filled, TAKEN);
        if
        :: moved -> read_task(w); finish(what)
        :: else
        fi
     :: else -> w++
     fi
  :: else -> break
  od;
  atomic { w = 0; filled = 0; what = 0; moved = false }
}

inline take_back()
{
  if
  :: w = 0
  :: w = WORKERS - 1
  fi;
  atomic { drain_of(me, w); filled = word[w] };
  if
  :: STATE(filled) == FULL && group[w] == me -> // the word has been read before, in another step
     move(w, filled, TAKEN);
     if
     :: moved -> assert(group[w] == me); read_task(w); finish(what)
     :: else
     fi
  :: else
  fi;
  atomic { w = 0; filled = 0; what = 0; moved = false }
}

proctype outside(bit me)
{
  byte i, mine, in, reserved, w, own, left_before, filled, what;
  bool answer, moved, given;
  for (i : 0 .. (me == 0 -> TASKS : OTHERS) - 1) {
    mine = i + TASKS * me;
#ifdef STOP
    if
    :: stopped -> atomic { refused = refused | (1 << mine) }; given = true
    :: else -> given = false
    fi;
#else
    given = false;
#endif
    do
    :: given -> break
    :: !given && reserved == 0 ->
       reserve_more();
       if
       :: reserved == 0 -> finish(mine); break // in the thread's own queue
       :: else
       fi
    :: !given && reserved != 0 ->
       give();
       if
       :: given ->
#if defined(GUARD) && !defined(NO_CALL)
          if
          :: dormant -> dormant = false
          :: else
          fi;
#endif
#if defined(STOP) && !defined(NO_LATE_LOOK)
          if
          :: stopped ->
             fence_of(me); // its own stores, which its compare-and-swaps see
             take_any()
          :: else
          fi;
#endif
          break
       :: else -> decline_all()
       fi
    od;
    if
    :: decline_all()
    :: reserved != 0
    fi;
    if
    :: me == 0 -> take_back()
    :: true
    fi;
    atomic { given = false; w = 0; mine = 0 }
  };
  decline_all();
  atomic { ended++; i = 0; w = 0; left_before = 0; check_end() }
}

// ---- a worker

// If the inbox is FULL: take the task. before: what the word was.
inline keep()
{
  moved = false;
  atomic {
    before = word[w];
    if
    :: STATE(before) == FULL ->
       moved = true;
#ifndef KEPT_NOT
       change(w, KEPT)
#endif
    :: else -> what = 0
    fi
  };
  if
  :: moved -> read_task(w); finish(what)
  :: else
  fi;
  what = 0
}

inline look()
{
  keep();
  atomic {
    if
    :: moved || before == AWAY -> gone[w] = false
    :: else
    fi;
    before = 0;
    moved = false
  }
}

inline leave()
{
#ifndef GONE_LATE
  gone[w] = true;
#endif
  left++;
#ifndef NO_LEAVE_LOOK
  look();
#endif
#ifdef GONE_LATE
  gone[w] = true;
#endif
}

inline shut()
{
  opened = false;
  do
  :: true ->
     keep();
     if
     :: moved || before != WAITING -> break
     :: else
     fi;
     atomic {
       if
       :: bits[mask] & BIT(w) -> bits[mask] = bits[mask] & (3 - BIT(w)); moved = true
       :: else
       fi
     };
     if
     :: moved -> d_step { change(w, AWAY) }; break
     :: else
     fi;
     if
     :: left < LEAVES -> leave(); break
     :: word[w] != before // waits
     fi
  od;
  atomic { before = 0; moved = false }
}

inline open(m)
{
  before = word[w];
  if
  :: gone[w] && (before == AWAY || mask == m) -> gone[w] = false; opened = true
  :: else
  fi;
  if
#ifdef OPEN_ANYHOW
  :: before == AWAY || (before == WAITING && gone[w]) ->
#else
  :: before == AWAY ->
     assert(((bits[0] | bits[1]) & BIT(w)) == 0);
#endif
     atomic { // no thread acts on the state before
       change(w, WAITING);
       opened = true;
       mask = m;
       bits[mask] = bits[mask] | BIT(w)
     };
#ifdef MOVES
     atomic { mask = 1 - mask; bits[mask] = bits[mask] | BIT(w) }
#endif
  :: else
  fi;
  before = 0
}

proctype worker(bit w)
{
  byte what, before;
  bit mask;                  // the one that has, or had, the worker's bit
  bool moved, opened;
  do
  :: true ->
     if // the next task
     :: gone[w] -> look()
     :: gone[w] // nothing may depend on this look
     :: else -> assert(word[w] == AWAY || word[w] == TAKEN)
     fi;
     if
#ifdef STOP
     :: stopped -> break
#else
     :: true -> break // a long task, or a last one
#endif
     :: open(0) ->
        if
        :: opened -> shut()
        :: else
        fi
     :: w == 0 -> open(1); shut()
#ifdef NO_PARK_LOOK
     :: assert(STATE(word[w]) != FULL) -> break // it sleeps
#endif
     fi
  od;
  atomic { workers_ended++; check_end() }
}

// ---- the guard, and a thread that takes what it marks

#ifdef GUARD
proctype guard()
{
  byte w, found;
  do
  :: dormant ->
     if
     :: !dormant
     :: atomic { (dormant && ended == 2 && workers_ended == WORKERS && !taking && pend[0] == NONE
                  && pend[WORKERS - 1] == NONE) -> assert(ran == ALL) };
        break
     fi
  :: !dormant ->
     found = 0;
     for (w : 0 .. WORKERS - 1) {
       atomic {
         if
         :: STATE(word[w]) == FULL ->
            found = 1;
            if
            :: seen[w] == word[w] -> stuck[w] = word[w]
            :: else -> seen[w] = word[w]; stuck[w] = 0
            fi
         :: else -> seen[w] = 0; stuck[w] = 0
         fi
       }
     };
     if
     :: found -> skip
     :: else ->
        dormant = true;
#ifndef DORMANT_LIGHT
        heavy();
#endif
#ifndef DORMANT_BLIND
        for (w : 0 .. WORKERS - 1) {
          if
          :: STATE(word[w]) == FULL -> dormant = false
          :: else
          fi
        }
#endif
     fi;
     atomic { w = 0; found = 0 }
  od
}

#define IS_STUCK(w) (stuck[w] != 0 && word[w] == stuck[w])

inline take_stuck()
{
#ifdef TAKE_BLIND
  atomic { change(w, TAKEN); moved = true; taking = true };
#else
  atomic {
    moved = (word[w] == marked);
    if
    :: moved -> change(w, TAKEN); taking = true
    :: else
    fi
  };
#endif
  if
  :: moved -> read_task(w); atomic { finish(what); taking = false }
  :: else
  fi;
  atomic { w = 0; what = 0; marked = 0; moved = false }
}

proctype taker()
{
  byte w, what, marked;
  bool moved;
end:
  do
  :: atomic { IS_STUCK(0) -> w = 0; marked = stuck[w] };
     take_stuck()
#if WORKERS > 1
  :: atomic { IS_STUCK(1) -> w = 1; marked = stuck[w] };
     take_stuck()
#endif
  od
}
#endif

// ---- the stop

#ifdef STOP
proctype stop()
{
  byte w, filled, what;
  bool moved;
  stopped = true;
  workers_ended == WORKERS;
#ifndef STOP_LIGHT
  heavy();
#endif
#ifndef NO_STOP_LOOK
  take_any();
#endif
  atomic { stop_ended = true; check_end() }
}
#endif

init
{
  atomic {
    run outside(0);
    run outside(1);
    run worker(0);
#if WORKERS > 1
    run worker(1);
#endif
#ifdef GUARD
    dormant = true;
    run guard();
    run taker();
#endif
#ifdef STOP
    run stop();
#endif
  }
}
