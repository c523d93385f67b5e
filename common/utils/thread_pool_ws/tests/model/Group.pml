// SPDX-License-Identifier: BSD-3-Clause
// The group of core/ws_group.c: word = count << 1 | sleeps. Completers subtract their units with one
// read-modify-write, and wake the word's address if they were last and a thread sleeps. The waiter owns the
// group's memory: once it sees the count at zero the memory is used for something else. A task may add a unit
// for another task before it completes its own.
//
// Checked: no thread touches the group after its memory was reused, the waiter sees all units done when it goes
// on, and it does go on (the end state is valid, that is no sleep without a wake to come).
// Mutants: READ_AGAIN (look at the word after the subtraction), NO_BIT (sleep without setting the bit),
// EARLY_BATCH (complete a batch before its last task), SPLIT (load and store instead of one subtraction).
#define UNITS 3
int word = UNITS << 1;
bool reused;            // the waiter has freed the memory, another thread writes there
byte ran;               // tasks whose function has returned
byte asleep;            // waiters in the kernel's queue of the address
byte wakes;             // wakes under way to them

inline touch() { assert(!reused) }

inline futex_wait(expected)
{
  atomic {                // the kernel compares and queues in one step
    if
    :: word == expected -> asleep++
    :: else -> goto look
    fi
  };
  atomic { wakes > 0 -> wakes--; asleep-- }
}

inline complete(units)
{
#ifdef SPLIT
  touch();
  before = word;
  touch();
  word = before - (units << 1);
#else
  atomic { touch(); before = word; word = word - (units << 1) };
#endif
#ifdef READ_AGAIN
  touch();
  before = word + (units << 1);
#endif
  if
  :: before == ((units << 1) | 1) -> atomic { wakes = asleep }  // by address only
  :: else
  fi
}

// Runs two tasks of the group and completes them together, as run_all does.
active proctype batcher()
{
  int before;
  ran++;
#ifdef EARLY_BATCH
  complete(2);
  ran++
#else
  ran++;
  complete(2)
#endif
}

active proctype completer()
{
  int before;
  ran++;
  complete(1)
}

active proctype waiter()
{
  int seen;
  if
  :: word >> 1 == 0 -> goto done  // it may look before it sleeps, or help and then look
  :: skip
  fi;
#ifdef NO_BIT
  seen = word;
#else
  atomic { word = word | 1; seen = word };
#endif
  do
  :: seen >> 1 == 0 -> break
  :: else ->
     futex_wait(seen);
look:
     seen = word
  od;
done:
  assert(ran == UNITS);
  reused = true
}
