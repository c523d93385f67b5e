// SPDX-License-Identifier: BSD-3-Clause
// abortTpool() and the delivery of results in shape A (shim/oai_fifo/tpool_fifo.c). A job that ends delivers
// its result to a FIFO of the caller's, unless the pool is aborted. When an abort returns, the caller may free
// the FIFO. The abort sleeps on the count of deliveries. Sequentially consistent, as the accesses are.
//
// Checked: no result comes after an abort has returned; every abort returns (valid end state).
// Mutants: LOOK_FIRST (a delivery looks at aborted before it counts itself), COUNT_FIRST (an abort reads the
// count before it sets aborted), NO_WAKE (a delivery that ends wakes no abort), WAKE_FIRST (it wakes before it
// takes itself off the count), WAKE_ONE (it wakes one of several aborts), SLEEP_BLIND (the sleep does not
// compare the count with the one that was read).
#define DELIVERIES 2
#define ABORTS 2
bool aborted, freed;
byte delivering;
bool sleeps[ABORTS];

inline wake()
{
  atomic {
#ifdef WAKE_ONE
    if
    :: sleeps[0] -> sleeps[0] = false
    :: sleeps[1] -> sleeps[1] = false
    :: else
    fi
#else
    sleeps[0] = false;
    sleeps[1] = false
#endif
  }
}

proctype delivery()
{
#ifdef LOOK_FIRST
  bool seen = aborted;
  delivering++;
#else
  bool seen;
  delivering++;
  seen = aborted;
#endif
  if
  :: seen
  :: else -> assert(!freed) // the result goes into the FIFO
  fi;
#ifdef WAKE_FIRST
  if
  :: aborted -> wake()
  :: else
  fi;
  delivering--
#else
  delivering--;
#ifndef NO_WAKE
  if
  :: aborted -> wake()
  :: else
  fi
#endif
#endif
}

proctype abort(byte me)
{
  byte seen;
#ifdef COUNT_FIRST
  seen = delivering;
  aborted = true;
#else
  aborted = true;
  seen = delivering;
#endif
  do
  :: seen == 0 -> break
  :: else ->
     atomic {
       if
#ifdef SLEEP_BLIND
       :: true -> sleeps[me] = true
#else
       :: delivering == seen -> sleeps[me] = true
       :: else
#endif
       fi
     };
     !sleeps[me];
     seen = delivering
  od;
  freed = true
}

init {
  byte i;
  atomic {
    for (i : 1 .. DELIVERIES) { run delivery() }
    for (i : 0 .. ABORTS - 1) { run abort(i) }
  }
}
