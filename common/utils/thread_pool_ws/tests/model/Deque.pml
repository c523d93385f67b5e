// SPDX-License-Identifier: BSD-3-Clause
// The deque of tasks/ws_deque.h under the store buffer of x86 (TSO): the owner's stores go through a first-in
// first-out buffer that drains at any time, its fence and its CAS wait until the buffer is empty. Thieves
// only load and CAS, so they need no buffer, and they have no fence here: that is the claim of
// ws_fence_seq_cst_loads. Every access of a shared word is a step of its own.
//
// Checked: no task runs twice, none is lost, none is read before it was written.
// Mutants: NO_FENCE NO_TAKES NO_SUBTRACT TAKES_FIRST TAKES_READ_LATE GROW_EARLY RING_EARLY SHRINK_FULL
#ifndef TASKS
#define TASKS 4
#endif
#ifndef TAKES
#define TAKES 2
#endif
#ifndef TRIES
#define TRIES 3
#endif
#ifndef THIEVES
#define THIEVES 1
#endif
#ifndef CAP
#define CAP 2
#endif
#define SIZE(level) (CAP << level)
#define CELL(level, index) (A_CELL + (level) * CAP + ((index) & (SIZE(level) - 1)))
#define A_BOTTOM 0
#define A_TAKES 1
#define A_RING 2
#define A_CELL 3

byte mem[3 + 3 * CAP];  // bottom, takes, ring (its level), cells of level 0, cells of level 1
byte top = 1;           // thieves and the owner, by CAS only
byte mem_own[3 + 3 * CAP]; // what the owner has stored: it reads its own stores from its buffer
byte ran[TASKS + 1];
byte ended;             // thieves that have
chan buffer = [12] of { byte, byte };

active proctype drain()
{
  byte address, value;
end:
  do
  :: atomic { buffer?address, value; mem[address] = value }
  od
}

inline store(address, value) { buffer!address, value }
inline fence() { empty(buffer) }
inline ran_once(number) { assert(number > 0); ran[number]++; assert(ran[number] == 1) }

// Owner's own words in locals: bottom, takes, level. Only it writes them.
proctype owner()
{
  byte bottom = 1, takes, level, seen = 1, next = 1, taken, t, i, task;
  bool last;
  do
  :: next <= TASKS ->
     if
     :: bottom - seen + 1 > SIZE(level) -> seen = top
     :: else
     fi;
     if
     :: bottom - seen + 1 > SIZE(level) ->
        assert(level == 0);  // TASKS fit in level 1
        i = top;
#ifdef GROW_EARLY
        store(A_RING, 1);
#endif
        do
        :: i != bottom ->
           mem_own[CELL(1, i)] = mem_own[CELL(0, i)];
           store(CELL(1, i), mem_own[CELL(0, i)]);
           i++
        :: else -> break
        od;
#ifndef GROW_EARLY
        store(A_RING, 1);
#endif
        level = 1
     :: else
     fi;
     mem_own[CELL(level, bottom)] = next;
     store(CELL(level, bottom), next);
     bottom++;
     store(A_BOTTOM, bottom);
     next++
  :: taken < TAKES || next > TASKS ->
     taken++;
     t = top;
     if
     :: bottom - 1 < t ->
        if
        :: next > TASKS && ended == THIEVES -> break
        :: next > TASKS && ended < THIEVES -> ended == THIEVES
        :: else
        fi
     :: else ->
        bottom--;
        takes++;
#ifdef TAKES_FIRST
        store(A_TAKES, takes);
        store(A_BOTTOM, bottom);
#else
        store(A_BOTTOM, bottom);
#ifndef NO_TAKES
        store(A_TAKES, takes);
#endif
#endif
#ifndef NO_FENCE
        fence();
#endif
        t = top;
        if
        :: bottom < t -> bottom++; store(A_BOTTOM, bottom)
        :: bottom > t -> task = mem_own[CELL(level, bottom)]; ran_once(task)
        :: bottom == t ->
           task = mem_own[CELL(level, bottom)];
           fence();
           atomic { last = (top == t); if :: last -> top = t + 1 :: else fi };
           bottom++;
           store(A_BOTTOM, bottom);
           if :: last -> ran_once(task) :: else fi
        fi
     fi
#ifdef SHRINK_FULL
  :: level == 1 && bottom - top == 1 ->
#else
  :: level == 1 && bottom == top ->
#endif
     store(A_RING, 0);
     level = 0
  od;
  fence();
  for (i : 1 .. TASKS) { assert(ran[i] == 1) }
}

proctype thief()
{
  byte tries, t, ring, task, takes, memo_takes;
  short memo_bottom;  // may fall below what it bounds, even below 0
  for (tries : 1 .. TRIES) {
    t = top;
#ifdef RING_EARLY
    ring = mem[A_RING];
#endif
    takes = mem[A_TAKES];
#ifndef NO_SUBTRACT
    memo_bottom = memo_bottom - (takes - memo_takes);
#endif
    memo_takes = takes;
    if
    :: memo_bottom > t
    :: else ->
       memo_bottom = mem[A_BOTTOM];
#ifdef TAKES_READ_LATE
       memo_takes = mem[A_TAKES]
#endif
    fi;
    if
    :: memo_bottom > t ->
#ifndef RING_EARLY
       ring = mem[A_RING];
#endif
       task = mem[CELL(ring, t)];
       if
       :: atomic { top == t -> top = t + 1; ran_once(task) }
       :: else
       fi
    :: else
    fi
  }
  ended++
}

init {
  byte i;
  atomic {
    mem[A_BOTTOM] = 1;
    run owner();
    for (i : 1 .. THIEVES) { run thief() }
  }
}
