// SPDX-License-Identifier: BSD-3-Clause
// The bit of a worker's queue in a word that searches read in place of the queue: tasks/ws_summary.h,
// core/ws_push.c (push_own, announce_tasks), core/ws_steal.c, tasks/ws_queue.c (ws_work_visible),
// sleep/ws_idle.c. One worker owns a queue: it pushes tasks from tasks, takes some of them, and clears the
// bit when it searches elsewhere. It may also wait until others have run what it pushed. Other workers find, search
// and park. The owner's publication passes a store buffer, as on x86: a read-modify-write and a fence
// wait until it is empty. A take is one step (Deque.pml has its steps). A look reads the bit and then the
// queue. The guard, which would repair a lost wake, is left out.
//
// Checked: each task runs once, and the owner does not wait without end (valid end state).
// Mutants: NOTE_LATE (the bit is set after the look at the sleepers), NO_PUSH_FENCE, NO_PARK_FENCE,
// CLEAR_FULL (the owner does not look whether its queue is empty), CLEAR_OTHER (a thief that finds the
// queue empty clears the bit), STAYS_SET (the owner forgets that it has cleared the bit).
#ifndef WORKERS
#define WORKERS 2            // that own no queue here
#endif
#ifndef TASKS
#define TASKS 3
#endif

bool noted;                  // in the summary word
bool set;                    // the owner's plain copy
byte queued;                 // tasks that other threads see
byte stored;                 // publications in the owner's store buffer
bool sleeper_stored[WORKERS]; // NO_PARK_FENCE: the announcement is under way
byte sleepers, searching, ran;
bool token[WORKERS];
bool ended;

active proctype drain()
{
end:
  do
  :: atomic { stored > 0 -> queued = queued + stored; stored = 0 }
  :: atomic { sleeper_stored[0] -> sleeper_stored[0] = false; sleepers = sleepers | 1 }
#if WORKERS > 1
  :: atomic { sleeper_stored[1] -> sleeper_stored[1] = false; sleepers = sleepers | 2 }
#endif
  od
}

inline wake()
{
  atomic {
    if
    :: sleepers & 1 -> sleepers = sleepers & ~1; searching++; token[0] = true
    :: (sleepers & 2) && !(sleepers & 1) -> sleepers = sleepers & ~2; searching++; token[1] = true
    :: else
    fi
  }
}

inline note()
{
  if
  :: !set -> set = true; atomic { stored == 0 -> noted = true }
  :: else
  fi
}

active proctype owner()
{
  byte pushed, mine;
  bool is_empty;
  do
  :: pushed == TASKS -> break
  :: pushed < TASKS ->
#ifndef NOTE_LATE
     note();
#endif
     atomic { pushed++; stored++ };
#ifndef NO_PUSH_FENCE
     stored == 0;
#endif
     if
     :: searching == 0 ->
        if
        :: sleepers != 0 -> wake()
        :: else
        fi
     :: else
     fi;
#ifdef NOTE_LATE
     note();
#endif
     if
     :: true -> ran == pushed        // the task waits for what it has pushed: other workers run that
     :: true                         // or its thread takes its newest task, and then searches elsewhere
        atomic {
          stored == 0;               // the take has a fence
          if
          :: queued > 0 -> queued--; ran++
          :: else
          fi
        };
#ifndef CLEAR_FULL
        is_empty = (queued == 0);
#else
        is_empty = true;
#endif
        if
        :: is_empty && set ->
#ifndef STAYS_SET
           set = false;
#endif
           atomic { stored == 0 -> noted = false }
        :: else
        fi
     :: true                         // or it goes on
     fi
  od;
  ran == TASKS;
  assert(queued == 0);
  ended = true
}

active [WORKERS] proctype worker()
{
  byte me = _pid - 2;
  bool seeks, sees, last;
  do
  :: sees = noted;
     if
     :: sees ->
        atomic {
          if
          :: queued > 0 -> queued--; ran++; assert(ran <= TASKS)
          :: else -> sees = false
          fi
        };
#ifdef CLEAR_OTHER
        if
        :: !sees -> noted = false
        :: else
        fi
#endif
     :: else
     fi;
     if
     :: sees ->
        if
        :: seeks ->
           atomic { searching--; last = (searching == 0); seeks = false };
           if
           :: last ->                // its fence: PARK_DEKKER
              sees = noted;
              if
              :: sees && queued > 0 && searching == 0 -> wake()
              :: else
              fi
           :: else
           fi
        :: else
        fi
     :: else ->
        if
        :: seeks -> atomic { searching--; seeks = false }
        :: else
        fi;
#ifndef NO_PARK_FENCE
        sleepers = sleepers | (1 << me);
#else
        sleeper_stored[me] = true;
#endif
        sees = noted;
        if
        :: sees -> sees = (queued > 0)
        :: else
        fi;
        atomic {
          if
          :: sees && (sleepers & (1 << me)) -> sleepers = sleepers & ~(1 << me); searching++
          :: sees && sleeper_stored[me] -> sleeper_stored[me] = false; searching++
          :: else ->
end:         token[me]; token[me] = false
          fi;
          seeks = true
        }
     fi
  od
}
