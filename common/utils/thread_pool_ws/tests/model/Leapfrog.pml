// SPDX-License-Identifier: BSD-3-Clause
// Leapfrog as in ws_steal_below (core/ws_steal.c) and ws_root_enter, ws_root_leave (core/ws_run.h): a thread
// that waits for group 1 takes a task from a queue whose root is group 1.
//
// The owner steals a task of group 1 or 2 when its queue is empty. That task, and tasks that it runs inside a
// join, push children; what is left when it ends is taken one by one, by the owner or by thieves. Each queued
// task carries the set of groups that it lies below: a bit each. Checked: what the waiter takes lies below
// group 1.
// Mutants: ROOT_BEFORE (root looked at before the task only), ENTER_ANYHOW (a task in a join sets the root
// though the queue holds older tasks), NO_CAS (the task is used without the CAS on top), KEEP_ROOT (no
// ws_root_end: the stolen task leaves children behind, its group is done, a new one has the same address).
byte top = 1, bottom = 1, root;
byte cell[8];            // groups that the task lies below; an index is never reused
byte steals, actions;

#define GROUP 1

inline push(groups)
{
  if
  :: bottom < 5 -> cell[bottom] = groups; bottom++
  :: skip
  fi
}

inline take()
{
  if
  :: atomic { top < bottom -> top++ }
  :: skip
  fi
}

active proctype owner()
{
  byte outer, inner, before, t, i;
  do
  :: steals < 2 && top == bottom ->
     steals++;
     if :: outer = 1 :: outer = 2 fi;
     root = outer;                            // ws_root_enter: the queue is empty
     actions = 0;
     do
     :: actions < 2 -> actions++; push(1 << outer)
     :: actions < 2 -> actions++; take()
     :: actions < 2 ->                        // inside a join: help_below
        actions++;
        if :: inner = 1 :: inner = 2 fi;
        before = root;
        t = top;
#ifndef ENTER_ANYHOW
        if
        :: bottom == t -> root = inner
        :: else
        fi;
#else
        root = inner;
#endif
        push((1 << outer) | (1 << inner));
        root = before                         // ws_root_leave
     :: break
     od;
#ifndef KEEP_ROOT
     t = top;                                 // ws_root_end
     if
     :: bottom != t -> root = 0
     :: else
     fi;
#endif
     // group 1 is done; its address is that of a new group, which nothing queued here lies below
     atomic {
       i = 1;
       do
       :: i < 8 -> cell[i] = cell[i] & ~(1 << GROUP); i++
       :: i == 8 -> break
       od;
       i = 0
     }
  :: top != bottom -> take()
  :: steals == 2 && top == bottom -> break
  od
}

active proctype waiter()
{
  byte t, task;
  byte tries;
  for (tries : 1 .. 3) {
    if
    :: root == GROUP ->
       t = top;
       if
       :: bottom > t ->
          task = cell[t];
#ifndef ROOT_BEFORE
          if
          :: root == GROUP
          :: else -> goto next
          fi;
#endif
#ifdef NO_CAS
          assert(task & (1 << GROUP));
#endif
          if
          :: atomic { top == t -> top++; assert(task & (1 << GROUP)) }
          :: else
          fi
       :: else
       fi
    :: else
    fi;
next: skip
  }
}
