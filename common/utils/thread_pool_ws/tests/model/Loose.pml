// SPDX-License-Identifier: BSD-3-Clause
// Memory that a queue no longer needs (shrink, trim and growth in tasks/ws_deque.c). The owner of an empty
// queue returns to its small ring and marks the pages of the big one as loose; any thread that is idle gives
// them back to the kernel, which makes them zero; the owner may grow again at any moment. Sequentially
// consistent: the orders of the accesses are checked by loose.c.
//
// Checked: what the owner has written to a big ring stays until it shrinks; one thread trims at a time.
// Mutants: TRIM_SPLIT (a trim takes the pages by a load and a store), GROW_BLIND (a growth does not take
// them), GROW_LOADS (it does by a load and a store), GROW_ANYHOW (it goes on beside a trim), NONE_EARLY (a
// trim says that it has ended before it gives the pages back), SHRINK_EARLY (the pages are marked before the
// last write).
#define ROUNDS 2
#define TRIMMERS 2
mtype = { NONE, PAGES, TRIMMING };
mtype loose = NONE;
byte page;               // its content
byte trims;              // under way
bool waits;
bool ended;

proctype owner()
{
  byte round;
  bool mine, waited;
  for (round : 1 .. ROUNDS) {
    mine = false;
    waited = false;
    do
    :: loose == NONE -> mine = true; break
#ifdef GROW_BLIND
    :: loose == PAGES -> mine = true; break
#endif
#ifdef GROW_LOADS
    :: loose == PAGES -> loose = NONE; mine = true; break
#else
    :: atomic { loose == PAGES -> loose = NONE }; mine = true; break
#endif
#ifdef GROW_ANYHOW
    :: loose == TRIMMING -> mine = true; break
#else
    :: loose == TRIMMING && waited -> break
    :: atomic { loose == TRIMMING && !waited -> waits = true };
       if
       :: !waits
       :: waits = false     // the time is up
       fi;
       waited = true
#endif
    od;
    if
    :: mine ->
       page = round;
       assert(page == round);
#ifdef SHRINK_EARLY
       loose = PAGES;
       page = round;
       assert(page == round)
#else
       loose = PAGES
#endif
    :: else
    fi
  }
  ended = true
}

proctype trimmer()
{
  do
  :: loose == PAGES ->
#ifdef TRIM_SPLIT
     loose = TRIMMING;
#else
     if
     :: atomic { loose == PAGES -> loose = TRIMMING }
     :: atomic { loose != PAGES -> goto again }
     fi;
#endif
#ifdef NONE_EARLY
     loose = NONE;
#endif
     trims++;
     assert(trims == 1);
     page = 0;
     trims--;
     loose = NONE;
     waits = false;
again:
     skip
  :: ended -> break
  od
}

init {
  byte i;
  atomic {
    run owner();
    for (i : 1 .. TRIMMERS) { run trimmer() }
  }
}
