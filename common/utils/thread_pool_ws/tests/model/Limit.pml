// SPDX-License-Identifier: BSD-3-Clause
// A function with a limit of one (tasks/ws_limit.h) and the workers' sleep. A thread outside pushes three
// tasks into the line. A worker takes them, runs them, and parks when it sees none that may begin. A helper,
// a thread outside that waits for the pool, takes at most one of them and leaves. Under the lock each of them
// changes the line and then writes open. That store and the unlock pass a store buffer of one entry, as on
// x86; a fence waits until the entry has drained.
//
// Checked: at most one task runs at a time, and at the end (valid end states) none is left in the line.
// Mutants: END_SILENT (the end of a task wakes no thread), NO_END_FENCE, NO_PUSH_FENCE (the post without its
// fence), NO_LOOK (a worker parks without the last look), TAKE_BLIND (a take trusts open, and does not look
// under the lock whether there is a place), OPEN_OLD (the end of a task does not write open).
#define TASKS 3
#define WORKER 0
#define HELPER 1
#define PUSHER 2
bool locked;
byte waiting, running; // under the lock
byte open;
bool stored[3];
byte buffer[3];
bool asleep, token;
byte begun;

active proctype drain()
{
end:
  do
  :: atomic { stored[WORKER] -> stored[WORKER] = false; open = buffer[WORKER]; locked = false }
  :: atomic { stored[HELPER] -> stored[HELPER] = false; open = buffer[HELPER]; locked = false }
  :: atomic { stored[PUSHER] -> stored[PUSHER] = false; open = buffer[PUSHER]; locked = false }
  od
}

#define LOCK(me) atomic { !locked && !stored[me] -> locked = true }
#define PUBLISH_AND_UNLOCK(me) \
  atomic { buffer[me] = (waiting > 0 && running == 0 -> 1 : 0); stored[me] = true }

// The caller reads its own store.
inline post(me)
{
  if
  :: atomic { asleep -> asleep = false; token = true }
  :: !asleep
  fi
}

// @param mine  out: a task was taken
inline take(me, mine)
{
  mine = false;
  if
  :: open > 0 ->
     LOCK(me);
     if
#ifdef TAKE_BLIND
     :: waiting > 0 ->
#else
     :: waiting > 0 && running == 0 ->
#endif
        waiting--;
        running++;
        assert(running == 1);
        begun++;
        mine = true;
        PUBLISH_AND_UNLOCK(me)
     :: else -> locked = false
     fi
  :: else
  fi
}

inline end_task(me)
{
  LOCK(me);
  running--;
#ifdef OPEN_OLD
  locked = false;
#else
  more = waiting > 0;
  PUBLISH_AND_UNLOCK(me);
#endif
#ifndef NO_END_FENCE
  !stored[me];
#endif
#ifndef END_SILENT
  if
  :: more -> post(me)
  :: else
  fi;
#endif
  more = false
}

active proctype worker()
{
  bool mine, more;
  do
  :: take(WORKER, mine);
     if
     :: mine -> end_task(WORKER)
     :: else ->
        !stored[WORKER]; // setting the bit drains
        asleep = true;
#ifndef NO_LOOK
        if
        :: open > 0 ->
           if
           :: atomic { asleep -> asleep = false }
           :: atomic { token -> token = false }
           fi;
           goto again
        :: else
        fi;
#endif
end:
        atomic { token -> token = false };
again:
        skip
     fi
  od
}

active proctype helper()
{
  bool mine, more;
  if
  :: take(HELPER, mine)
  :: mine = false
  fi;
  if
  :: mine -> end_task(HELPER)
  :: else
  fi
}

active proctype pusher()
{
  byte i;
  for (i : 1 .. TASKS) {
    LOCK(PUSHER);
    waiting++;
    PUBLISH_AND_UNLOCK(PUSHER);
#ifndef NO_PUSH_FENCE
    !stored[PUSHER];
#endif
    if
    :: open > 0 || (stored[PUSHER] && buffer[PUSHER] > 0) -> post(PUSHER)
    :: else
    fi
  }
}

// When no other thread can take a step, this one can: whatever is left then stays there.
active proctype check()
{
  timeout;
  assert(waiting == 0 && running == 0 && begun == TASKS)
}
