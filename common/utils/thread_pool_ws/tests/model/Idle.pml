// SPDX-License-Identifier: BSD-3-Clause
// ws_pool_wait (core/ws_wait.c) and ws_note_idle (core/ws_run.c). One thread pushes two tasks and waits. A
// worker and a helper run them: the helper is a thread outside that joins, and when it finds nothing it
// sleeps until the wait is over. Each of the two tasks pushes one child, which does not push. Another thread
// outside pushes one task before the wait begins: it is queued or, as if the queue were full, runs inline. A
// run counter is a plain store and passes a store buffer of one entry, as on x86; a fence waits until the
// entry has drained.
//
// Checked: the waiter goes on only when every task has run, and it does go on (valid end state).
// Mutants: PUSHED_FIRST (sums in the wrong order), COUNT_LATE (pushed counted after the task is published),
// NO_FENCE (ws_note_idle without its fence), NO_LOOK (sleep without a look after the announcement),
// SEEN_LATE (the futex word is read after the look), SLEEP_SILENT (the helper sleeps without ws_note_idle),
// INLINE_UNCOUNTED (a task run inline counts as run, not as pushed).
#define WORKER 0
#define HELPER 1
#define WAITER 2
#define PUSHER 3
byte parents, children;     // queued
byte pushed[4], ran[4];
bool stored[4];
byte buffer[4];
byte finished, waiters, idle;
bool begun, asleep, over;

active proctype drain()
{
end:
  do
  :: atomic { stored[WORKER] -> stored[WORKER] = false; ran[WORKER] = buffer[WORKER] }
  :: atomic { stored[HELPER] -> stored[HELPER] = false; ran[HELPER] = buffer[HELPER] }
  :: atomic { stored[PUSHER] -> stored[PUSHER] = false; ran[PUSHER] = buffer[PUSHER] }
  od
}

inline note_idle()
{
#ifndef NO_FENCE
  !stored[me];
#endif
  if
  :: waiters > 0 -> atomic { idle++; asleep = false }
  :: else
  fi
}

inline count_run()
{
  !stored[me];           // first in, first out
  count++;
  atomic { buffer[me] = count; stored[me] = true }
}

active [2] proctype runner()
{
  byte me = _pid - 1;
  byte count;
  bool child;
  do
  :: over -> break
  :: atomic { parents > 0 -> parents--; child = false };
again:
     if
     :: !child ->
#ifdef COUNT_LATE
        children++;
        pushed[me]++
#else
        pushed[me]++;
        children++
#endif
     :: else
     fi;
     finished++;
     count_run();
     if
     :: atomic { parents > 0 -> parents--; child = false }; goto again
     :: atomic { children > 0 -> children--; child = true }; goto again
     :: parents == 0 && children == 0
     fi;
#ifdef SLEEP_SILENT
     if
     :: me == HELPER -> break
     :: else
     fi;
#endif
     note_idle();
     if
     :: me == HELPER -> break
     :: else
     fi
  :: atomic { children > 0 -> children--; child = true }; goto again
  od
}

active proctype pusher()
{
  byte me = PUSHER;
  byte count;
  if
  :: pushed[me]++; children++; begun = true    // a task that does not push
  ::
#ifndef INLINE_UNCOUNTED
     pushed[me]++;
#endif
     begun = true;
     finished++;
     count_run();
     note_idle()
  fi
}

byte ran_sum, pushed_sum;
inline is_idle()
{
#ifdef PUSHED_FIRST
  pushed_sum = pushed[WORKER];
  pushed_sum = pushed_sum + pushed[HELPER];
  pushed_sum = pushed_sum + pushed[WAITER];
  pushed_sum = pushed_sum + pushed[PUSHER];
#endif
  ran_sum = ran[WORKER];
  ran_sum = ran_sum + ran[HELPER];
  ran_sum = ran_sum + ran[PUSHER];
#ifndef PUSHED_FIRST
  pushed_sum = pushed[WORKER];
  pushed_sum = pushed_sum + pushed[HELPER];
  pushed_sum = pushed_sum + pushed[WAITER];
  pushed_sum = pushed_sum + pushed[PUSHER]
#endif
}

active proctype waiter()
{
  byte seen;
  pushed[WAITER] = 1;
  parents++;
  pushed[WAITER] = 2;
  parents++;
  begun;
  waiters++;
  do
  ::
#ifndef SEEN_LATE
     seen = idle;
#endif
#ifndef NO_LOOK
     is_idle();
     if
     :: ran_sum == pushed_sum -> break
     :: else
     fi;
#endif
#ifdef SEEN_LATE
     seen = idle;
#endif
     if
     :: atomic { idle == seen -> asleep = true }; !asleep
     :: idle != seen
     fi;
#ifdef NO_LOOK
     is_idle();
     if
     :: ran_sum == pushed_sum -> break
     :: else
     fi
#endif
  od;
  assert(finished == 5 && parents == 0 && children == 0);
  over = true
}
