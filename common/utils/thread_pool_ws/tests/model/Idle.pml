// SPDX-License-Identifier: BSD-3-Clause
// ws_pool_wait (core/ws_wait.c) and ws_note_idle (core/ws_run.c). One thread pushes two tasks and waits; two
// workers run them; each of the two pushes one child, which does not push. A worker's run counter is a plain
// store and passes a store buffer of one entry, as on x86; its fence waits until the entry has drained.
//
// Checked: the waiter goes on only when every task has run, and it does go on (valid end state).
// Mutants: PUSHED_FIRST (sums in the wrong order), COUNT_LATE (pushed counted after the task is published),
// NO_FENCE (ws_note_idle without its fence), NO_LOOK (sleep without a look after the announcement),
// SEEN_LATE (the futex word is read after the look).
byte parents, children;     // queued
byte pushed[3], ran[2];     // 0, 1: workers, 2: the waiter
bool stored[2];
byte buffer[2];
byte finished, waiters, idle;
bool asleep, over;

active proctype drain()
{
end:
  do
  :: atomic { stored[0] -> stored[0] = false; ran[0] = buffer[0] }
  :: atomic { stored[1] -> stored[1] = false; ran[1] = buffer[1] }
  od
}

active [2] proctype worker()
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
     !stored[me];           // first in, first out
     count++;
     atomic { buffer[me] = count; stored[me] = true };
     if
     :: atomic { parents > 0 -> parents--; child = false }; goto again
     :: atomic { children > 0 -> children--; child = true }; goto again
     :: parents == 0 && children == 0
     fi;
     // ws_note_idle
#ifndef NO_FENCE
     !stored[me];
#endif
     if
     :: waiters > 0 -> atomic { idle++; asleep = false }
     :: else
     fi
  :: atomic { children > 0 -> children--; child = true }; goto again
  od
}

byte ran_sum, pushed_sum;
inline is_idle()
{
#ifdef PUSHED_FIRST
  pushed_sum = pushed[0];
  pushed_sum = pushed_sum + pushed[1];
  pushed_sum = pushed_sum + pushed[2];
#endif
  ran_sum = ran[0];
  ran_sum = ran_sum + ran[1];
#ifndef PUSHED_FIRST
  pushed_sum = pushed[0];
  pushed_sum = pushed_sum + pushed[1];
  pushed_sum = pushed_sum + pushed[2]
#endif
}

active proctype waiter()
{
  byte seen;
  pushed[2] = 1;
  parents++;
  pushed[2] = 2;
  parents++;
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
  assert(finished == 4 && parents == 0 && children == 0);
  over = true
}
