// SPDX-License-Identifier: BSD-3-Clause
// Turns of a wait: core/ws_join.c, ws_next.c, ws_next.h, ws_dig.c, ws_swap.c. A thread outside its worker's
// loop waits for a group. Its queue holds tasks of the group under an unrelated one. A task of the group
// pushes a child, which completes a unit, and starts a chain: a task that pushes its successor until the group
// is done. A fiber of the group yields until all other units are complete, and an unrelated fiber yields until
// the wait has returned. A thief takes the oldest task now and then, and runs it elsewhere.
// The queue is an array, the oldest task first. Rounds have two searches here. At
// their end goes first, as for a thread outside: the oldest task if the wait may run it, else, by turns, the
// newest of the group below the mark or the oldest above it.
//
// Checked: the wait runs no unrelated task but fibers, it runs nothing when its group is done, and it returns
// after a bounded number of tasks: each task that it may run has its turn.
// Mutants: NO_TURN (the newest goes first, always), RIDE (after a yield the thread goes on with the oldest
// fiber without a look at the group), GROUP_ONLY (the end of a round reaches for tasks of the group only), RUN_ANY
// (it takes the oldest task whatever it is).
#define PLACES 8
#define ROUND 2
#define RUNS_MAX 40

mtype = { UNRELATED, MEMBER, PARENT, CHILD, CHAIN, FIBER, OTHER_FIBER }

mtype task[PLACES];
byte length;
byte mark;                      // tasks below it were queued before the wait
byte units;                     // not complete
bool returned;
byte runs;
byte steals;

inline push(what)
{
  assert(length < PLACES);
  task[length] = what;
  length++
}

// Out: taken. The tasks above the place move down by one.
inline take_at(place)
{
  taken = task[place];
  index = place;
  do
  :: index + 1 < length -> task[index] = task[index + 1]; index++
  :: else -> break
  od;
  length--;
  if
  :: place < mark -> mark--
  :: else
  fi
}

#define IS_MEMBER(what) (what == MEMBER || what == PARENT || what == FIBER)
#define IS_FIBER(what) (what == FIBER || what == OTHER_FIBER)
#define MAY_RUN(place) (place >= mark || IS_MEMBER(task[place]) || (yielded && IS_FIBER(task[place])))

// Out: place, or PLACES = none.
inline newest_member_below(end)
{
  place = PLACES;
  index = 0;
  do
  :: index < end && index < length ->
     if
     :: IS_MEMBER(task[index]) -> place = index
     :: else
     fi;
     index++
  :: else -> break
  od
}

inline find_turn()
{
  visit = 1 - visit;
  place = PLACES;
  if
  :: length > 0 && MAY_RUN(0) -> place = 0
#ifdef RUN_ANY
  :: length > 0 && !MAY_RUN(0) -> place = 0
#else
  :: length > 0 && !MAY_RUN(0) ->
     if
#ifndef GROUP_ONLY
     :: visit == 1 && length > mark -> place = mark
#endif
     :: else -> newest_member_below(mark)
     fi
#endif
  :: else
  fi
}

inline find_newest()
{
  place = PLACES;
  if
  :: length > mark || (length > 0 && IS_MEMBER(task[length - 1])) -> place = length - 1
  :: else -> newest_member_below(length)
  fi
}

inline complete() { assert(units > 0); units-- }

// Run the task that was taken, in the wait or (elsewhere) by the thief.
inline perform(what, elsewhere)
{
  if
  :: what == MEMBER || what == CHILD -> complete()
  :: what == PARENT -> push(CHILD); push(CHAIN); complete()
  :: what == CHAIN && units > 0 -> push(CHAIN)
  :: what == CHAIN && units == 0
  :: what == FIBER && units == 1 -> complete()
  :: what == FIBER && units > 1 -> push(FIBER); yielded = !elsewhere
  :: what == OTHER_FIBER && returned
  :: what == OTHER_FIBER && !returned -> push(OTHER_FIBER); yielded = !elsewhere
  :: what == UNRELATED -> assert(elsewhere)
  fi
}

active proctype waiter()
{
  byte place, index, left = ROUND;
  bit visit;
  bool yielded = false;
  mtype taken;
  d_step {
    push(OTHER_FIBER); push(MEMBER); push(UNRELATED); push(FIBER); push(PARENT);
    units = 4;                  // with the child's
    mark = length
  };
  do
  :: units == 0 -> break
  :: units > 0 ->
     atomic {
       left--;
       place = PLACES;
#ifndef NO_TURN
       if
       :: left == 0 || yielded -> find_turn(); left = ROUND
       :: else
       fi;
#else
       left = ROUND;
#endif
       yielded = false;
       if
       :: place == PLACES -> find_newest()
       :: else
       fi;
       if
       :: place < PLACES ->
          take_at(place);
          runs++;
          assert(runs <= RUNS_MAX);
          perform(taken, false)
       :: else -> units == 0    // it sleeps
       fi
     };
#ifdef RIDE
     do
     :: atomic {
          yielded && length > 0 && IS_FIBER(task[0]) ->
          assert(units > 0);    // the wait is over
          yielded = false;
          take_at(0);
          runs++;
          assert(runs <= RUNS_MAX);
          perform(taken, false)
        }
     :: else -> break
     od
#endif
  od;
  returned = true
}

active proctype thief()
{
  byte index;
  bool yielded;
  mtype taken;
  do
  :: atomic { steals < 4 && length > 0 && !returned -> steals++; take_at(0); perform(taken, true) }
  :: break
  od
}
