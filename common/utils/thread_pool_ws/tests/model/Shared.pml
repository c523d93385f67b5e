// SPDX-License-Identifier: BSD-3-Clause
// The bounded queue of tasks/ws_shared.h: threads without a lane push, any thread takes the oldest task, a
// thread that waits takes a task of its own from the middle. Sequentially consistent, each access of a shared
// word a step: the orders of the accesses are checked by shared.c. Indices start at CAP, so that none is
// negative.
//
// Checked: no task runs twice, none is read before it was written or after its cell was filled again, and all
// that were pushed are found at the end.
// Mutants: CLAIM_SPLIT, HEAD_SPLIT (an index is claimed by a load and a store), CLAIM_FULL (a push does not
// wait for its cell's turn), PUBLISH_EARLY (turn before the task), REUSE_EARLY (the cell is freed before the
// copy), TAKE_BLIND (a take from the middle does not set taken), HEAD_BLIND (a take of the oldest does not),
// PASS_BLIND (cells are freed without a look at taken).
#ifndef PUSHERS
#define PUSHERS 2
#endif
#ifndef TAKERS
#define TAKERS 1
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef TRIES
#define TRIES 2
#endif
#define CAP 2
#define TASKS (PUSHERS * PUSHES)

byte turn[CAP], taken[CAP], task[CAP]; // of a cell
byte head = CAP, tail = CAP;
byte pushed[TASKS + 1], ran[TASKS + 1];
byte ended;

inline run_once(number)
{
  assert(number > 0);
  ran[number]++;
  assert(ran[number] == 1)
}

// got: out, whether @p word was @p from and is @p to now
inline cas(word, from, to)
{
  atomic {
    got = (word == from);
    if
    :: got -> word = to
    :: else
    fi
  }
}

#ifdef CLAIM_SPLIT
#define CAS_TAIL got = (tail == index); if :: got -> tail = index + 1 :: else fi
#else
#define CAS_TAIL cas(tail, index, index + 1)
#endif
#ifdef HEAD_SPLIT
#define CAS_HEAD got = (head == index); if :: got -> head = index + 1 :: else fi
#else
#define CAS_HEAD cas(head, index, index + 1)
#endif

proctype pusher(byte first)
{
  byte number, index, seen;
  bool got;
  for (number : first .. first + PUSHES - 1) {
    index = tail;
    do
    :: seen = turn[index % CAP];
       if
#ifdef CLAIM_FULL
       :: true ->
#else
       :: seen == index ->
#endif
          CAS_TAIL;
          if
          :: got -> break
          :: else -> index = tail
          fi
#ifndef CLAIM_FULL
       :: seen < index -> got = false; break
       :: seen > index -> index = tail
#endif
       fi
    od;
    if
    :: got ->
       pushed[number] = 1;
#ifdef PUBLISH_EARLY
       turn[index % CAP] = index + 1;
       task[index % CAP] = number
#else
       task[index % CAP] = number;
       turn[index % CAP] = index + 1
#endif
    :: else
    fi
  }
  ended++
}

// number: out, 0 = none
inline take()
{
  number = 0;
  index = head;
  do
  :: seen = turn[index % CAP];
     if
     :: seen == index + 1 ->
        CAS_HEAD;
        if
        :: got ->
#ifdef REUSE_EARLY
           turn[index % CAP] = index + CAP;
#endif
           number = task[index % CAP];
#ifndef HEAD_BLIND
           cas(taken[index % CAP], index + 1 - CAP, index + 1);
#endif
#ifndef REUSE_EARLY
           turn[index % CAP] = index + CAP;
#endif
           if
           :: got -> break
           :: else -> number = 0
           fi
        :: else
        fi;
        index = head
     :: seen < index + 1 -> number = 0; break
     :: seen > index + 1 -> index = head
     fi
  od
}

// Free the oldest cells whose tasks were taken from the middle.
inline pass()
{
  index = head;
  do
  :: turn[index % CAP] != index + 1 -> break
  :: else ->
#ifndef PASS_BLIND
     if
     :: taken[index % CAP] != index + 1 -> break
     :: else
     fi;
#endif
     CAS_HEAD;
     if
     :: got -> turn[index % CAP] = index + CAP; index++
     :: else -> break
     fi
  od
}

proctype taker()
{
  byte tries, index, seen, number;
  bool got;
  for (tries : 1 .. TRIES) {
    take();
    if
    :: number > 0 -> run_once(number)
    :: else
    fi
  }
  ended++
}

// A thread that waits: it looks at the cells from head to tail, and takes what it finds.
proctype waiter()
{
  byte index, last, number;
  bool got;
  index = head;
  last = tail;
  do
  :: index < last ->
     if
     :: turn[index % CAP] == index + 1 ->
        number = task[index % CAP];
#ifdef TAKE_BLIND
        got = (taken[index % CAP] == index + 1 - CAP);
#else
        cas(taken[index % CAP], index + 1 - CAP, index + 1);
#endif
        if
        :: got -> run_once(number)
        :: else
        fi
     :: else
     fi;
     index++
  :: else -> break
  od;
  pass();
  ended++
}

init {
  byte i, index, seen, number;
  bool got;
  atomic {
    for (i : 0 .. CAP - 1) {
      turn[i] = CAP + i;
      taken[i] = i + 1;
    }
    for (i : 0 .. PUSHERS - 1) { run pusher(1 + i * PUSHES) }
    for (i : 1 .. TAKERS) { run taker() }
    run waiter();
  }
  ended == PUSHERS + TAKERS + 1;
  do
  :: take();
     if
     :: number > 0 -> run_once(number)
     :: else -> break
     fi
  od;
  for (i : 1 .. TASKS) { assert(ran[i] == pushed[i]) }
}
