// SPDX-License-Identifier: BSD-3-Clause
// Cancel by key: cancel/ws_key.c. A key has a word that counts its cancels (epoch) and
// the tasks of this epoch that a cancel would skip (live). It has SLOTS counters of tasks that have not started or been
// skipped, and as many words that count skipped tasks, each with the epoch that it counts for. Two threads
// push tasks with the key. Two workers start or skip them. One cancel waits, and one does not (with WAITERS
// both wait). When both have returned and no push is under way, the owner cancels once more, waits, and frees
// the key. There is one cancel more than slots, so a slot is used again. A push may be refused. The queues
// are one bag; Group.pml has the sleep and wake of a group. Sequentially consistent; each step is one access
// of the key.
//
// Checked: each task whose push was accepted is run or skipped, once. It is not run if its epoch was over
// when a worker took it. When a cancel that waits returns, each task of its epoch and of those before has
// started or been skipped (on_cancel has returned), and no push adds a task to those epochs later. The cancel
// returns the number of tasks of its epoch that were skipped. Each cancel finds in live the number of tasks
// of its epoch that are queued, taken, or refused later. No thread touches the key after the owner has freed
// it. Every cancel ends (valid end state).
// Mutants: NO_RECHECK (a push does not look at the epoch again), LOOK_FIRST (it looks again before it
// counts its task), WAIT_FIRST (a cancel looks at the count before it ends the epoch), START_EARLY (a worker
// reads the epoch before it takes the task), STAYS_LIVE (a start does not change live), LEAVE_FIRST (a
// task is taken off the count before on_cancel), COUNT_LAST (a skip is counted when the task is off the
// count), NO_CAS (skips are counted by a load and a store), NO_TAG (the count of skips has no epoch),
// KEEP_REFUSED (a refused push stays counted), OWN_ONLY (a cancel waits for its own epoch only, and the owner
// frees the key although tasks of an earlier cancel are queued), NOT_CROWDED (a cancel does not wait for the
// tasks that the next epoch finds in its slot).
//
// BEYOND: the last cancel begins although an earlier one has not returned. The slot of the earlier cancel
// is used again before that cancel reads its number of skipped tasks, so the number may be too low. All
// other properties hold. NUMBERS checks the number all the same.
#ifndef SLOTS
#define SLOTS 2
#endif
#define CANCELS 3
#ifndef TASKS
#define TASKS 3              // the first pusher pushes one, the second the others
#endif
#define ABSENT 0
#define QUEUED 1             // counted, or about to be pushed
#define TAKEN 2
#define STARTED 3            // it will run, whatever happens to the key
#define SKIPPED 4            // on_cancel has returned
#define REFUSED 5
#ifndef BEYOND
#define NUMBERS
#endif

byte epoch, live;            // one word
byte count[SLOTS];
byte tag[SLOTS], skips[SLOTS]; // one word
byte task_epoch[TASKS], task_state[TASKS];
bool bag[TASKS];
byte skipped_of[CANCELS + 1]; // tasks of each epoch
byte returned;               // a cancel has returned that ended the epoch before that one
byte pushers_ended, cancels_ended;
bool freed;

inline touch() { assert(!freed) }

inline leave(its, skipped)
{
#ifdef COUNT_LAST
  atomic { touch(); count[its % SLOTS]-- };
#endif
  if
  :: skipped ->
#ifdef NO_CAS
     atomic { touch(); seen = (tag[its % SLOTS] == its -> skips[its % SLOTS] : 0) };
     atomic { touch(); tag[its % SLOTS] = its; skips[its % SLOTS] = seen + 1; seen = 0 }
#else
     atomic {
       touch();
#ifdef NO_TAG
       skips[its % SLOTS]++;
#else
       skips[its % SLOTS] = 1 + (tag[its % SLOTS] == its -> skips[its % SLOTS] : 0);
#endif
       tag[its % SLOTS] = its
     }
#endif
  :: else
  fi;
#ifndef COUNT_LAST
  atomic { touch(); count[its % SLOTS]-- }
#else
  skip
#endif
}

// The push is refused.
inline leave_live()
{
  atomic {
    touch();
    if
    :: epoch == mine -> live--
    :: else
    fi;
    task_state[task] = REFUSED
  }
}

// The task belongs to an epoch from here on.
inline enter()
{
  assert(mine >= returned);
  task_epoch[task] = mine;
  task_state[task] = QUEUED
}

active [2] proctype pusher()
{
  byte task, mine, seen;
  bool again;
  for (task : (_pid == 0 -> 0 : 1) .. (_pid == 0 -> 0 : TASKS - 1)) {
    do
    :: atomic { touch(); mine = epoch };
#ifdef LOOK_FIRST
       atomic { touch(); again = (epoch != mine) };
#endif
       atomic { touch(); count[mine % SLOTS]++ };
       atomic {
         touch();
#if !defined(NO_RECHECK) && !defined(LOOK_FIRST)
         again = (epoch != mine);
#endif
         if
         :: !again -> live++; enter(); break
         :: else -> again = false
         fi
       };
       atomic { touch(); count[mine % SLOTS]-- }
    od;
    if
    :: atomic { bag[task] = true; mine = 0 }
    ::
#ifdef KEEP_REFUSED
       task_state[task] = REFUSED
#else
       leave_live();
       leave(mine, false)
#endif
    fi
  }
  pushers_ended++
}

inline on_cancel()
{
  atomic {
    assert(task_state[task] == TAKEN && mine >= returned);
    task_state[task] = SKIPPED;
    skipped_of[mine]++
  }
}

active [2] proctype worker()
{
  byte task, mine, seen, known;
  bool skipped, over;      // over: its epoch was over when the worker took it
end:
  do
  :: bag[0] || bag[1] || bag[2];
#ifdef START_EARLY
     known = epoch;
#endif
     atomic {
       if
       :: bag[0] -> task = 0
       :: bag[1] -> task = 1
       :: bag[2] -> task = 2
       :: else -> goto end
       fi;
       assert(task_state[task] == QUEUED);
       bag[task] = false;
       task_state[task] = TAKEN;
       mine = task_epoch[task];
       over = (epoch != mine)
     };
     atomic {
       touch();
#ifdef START_EARLY
       skipped = (known != mine);
#else
       skipped = (epoch != mine);
#endif
#ifdef START_EARLY
       known = 0;
#endif
       if
       :: !skipped -> assert(!over); task_state[task] = STARTED;
#ifndef STAYS_LIVE
          live--
#endif
       :: else
       fi
     };
#ifdef LEAVE_FIRST
     leave(mine, skipped);
#endif
     if
     :: skipped -> on_cancel()
     :: else
     fi;
#ifndef LEAVE_FIRST
     leave(mine, skipped);
#endif
     atomic { skipped = false; over = false; mine = 0; task = 0 }
  od
}

#define GONE(i) (task_epoch[i] > mine || (task_state[i] != QUEUED && task_state[i] != TAKEN))

#define LIVE(i) (task_epoch[i] == mine && (task_state[i] == QUEUED || task_state[i] == TAKEN) -> 1 : 0)
inline check_live() { assert(live == LIVE(0) + LIVE(1) + LIVE(2)) }

// @return mine, and whether the next epoch finds tasks in its slot
inline end_epoch()
{
#ifdef WAIT_FIRST
  atomic { count[epoch % SLOTS] == 0; touch() };
  atomic { touch(); mine = epoch; epoch++; live = 0 };
#else
  do
  :: atomic { touch(); mine = epoch };
     atomic { touch(); crowded = (count[(mine + 1) % SLOTS] != 0) };
     atomic {
       touch();
       if
       :: epoch == mine -> check_live(); epoch++; live = 0; break
       :: else
       fi
     }
  od
#endif
}

inline await(slot) { atomic { count[(slot) % SLOTS] == 0; touch() } }

inline cancel_and_wait()
{
  end_epoch();
#ifndef WAIT_FIRST
#ifdef OWN_ONLY
  await(mine);
#else
  for (back : 0 .. SLOTS - 2) {
    await(mine + SLOTS - back)
  }
#endif
#ifndef NOT_CROWDED
  if
  :: crowded -> await(mine + 1)
  :: else
  fi;
#endif
#endif
  atomic {
    touch();
#ifdef NO_TAG
    result = skips[mine % SLOTS];
#else
    result = (tag[mine % SLOTS] == mine -> skips[mine % SLOTS] : 0);
#endif
#ifdef NUMBERS
    assert(result == skipped_of[mine]);
#endif
    assert(GONE(0) && GONE(1) && GONE(2));
    returned = (mine + 1 > returned -> mine + 1 : returned);
    cancels_ended++
  }
}

active [CANCELS] proctype canceller()
{
  byte mine, back, result;
  bool crowded;
  bool owner = (_pid == CANCELS + 3);
  if
  :: owner -> pushers_ended == 2;
#ifndef BEYOND
     cancels_ended == CANCELS - 1
#endif
  :: else
  fi;
  if
#ifndef WAITERS
  :: _pid == 4 -> atomic { touch(); mine = epoch; check_live(); epoch++; live = 0; cancels_ended++ }
#endif
  :: else -> cancel_and_wait()
  fi;
  if
  :: owner ->
     cancels_ended == CANCELS;
     freed = true;
     assert(!bag[0] && !bag[1] && !bag[2])
  :: else
  fi
}
