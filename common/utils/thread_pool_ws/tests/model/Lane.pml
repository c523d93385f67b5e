// SPDX-License-Identifier: BSD-3-Clause
// Lanes (pool/ws_lane.c, free_lanes() of pool/ws_process.c): a thread takes a free lane, brings a new one
// into use, or inherits one of a thread that was ended before it could free it. The kernel gives the number of
// an ended thread to a later one. Sequentially consistent: the orders of the accesses are checked by
// handover.c.
//
// Checked: a lane has one user at a time; a lane in the table is set up; two lanes never share an entry.
// Mutants: TAKE_SPLIT (a free lane is taken by a load and a store), FREE_EARLY (a thread frees its lane
// before its last use), TABLE_EARLY (queues before the lane's fields), NO_LOCK (two threads take the same lane
// into use), INHERIT_BLIND (without a look whether the owner's thread exists), READ_AGAIN (the take compares
// with a later owner), NO_NUMBER (an owner is the kernel's number only, not its own as well).
#ifndef THREADS
#define THREADS 3
#endif
#define KERNEL 2      // numbers that the kernel has
#ifndef LANES
#define LANES 2
#endif
#define NUMBER(id) ((id) % (KERNEL + 1)) // of the kernel, from 1; 0 = no thread

bool exists[KERNEL + 1]; // the kernel knows a thread of that number
byte threads;            // ever started
byte queues;             // lanes in use
byte owner[LANES];
bool made[LANES];
byte users[LANES];
bool lock;

inline cas_owner(lane, from)
{
  atomic {
    if
    :: owner[lane] == from -> owner[lane] = id; mine = lane + 1
    :: else
    fi
  }
}

inline take_free()
{
  i = 0;
  do
  :: i < table && mine == 0 ->
     if
     :: owner[i] == 0 ->
#ifdef TAKE_SPLIT
        owner[i] = id;
        mine = i + 1
#else
        cas_owner(i, 0)
#endif
     :: else
     fi;
     i++
  :: else -> break
  od
}

inline add()
{
#ifndef NO_LOCK
  atomic { !lock -> lock = true };
#endif
  table = queues;
  if
  :: table < LANES ->
#ifdef TABLE_EARLY
     queues = table + 1;
#endif
     assert(!made[table]);
     made[table] = true;
     owner[table] = id;
#ifndef TABLE_EARLY
     queues = table + 1;
#endif
     mine = table + 1
  :: else
  fi;
#ifndef NO_LOCK
  lock = false
#endif
}

inline inherit()
{
  table = queues;
  i = 0;
  do
  :: i < table && mine == 0 ->
     seen = owner[i];
     if
#ifndef INHERIT_BLIND
     :: seen != 0 && NUMBER(seen) != number && exists[NUMBER(seen)]
#endif
     :: else ->
#ifdef READ_AGAIN
        seen = owner[i];
#endif
        cas_owner(i, seen)
     fi;
     i++
  :: else -> break
  od
}

inline use()
{
  assert(users[mine - 1] == 0);
  users[mine - 1]++;
  users[mine - 1]--
}

proctype thread()
{
  byte number, id, table, i, seen, mine;
  atomic {
    if
    :: !exists[1] -> number = 1
    :: !exists[2] -> number = 2
    fi;
    exists[number] = true;
    threads++;
#ifdef NO_NUMBER
    id = number
#else
    id = threads * (KERNEL + 1) + number
#endif
  }
  table = queues;
  take_free();
  if
  :: mine == 0 && table < LANES -> add()
  :: else
  fi;
  if
  :: mine == 0 -> inherit()
  :: else
  fi;
  if
  :: mine > 0 ->
     use();
     if
     :: true ->          // it ends, and frees its lane
#ifdef FREE_EARLY
        owner[mine - 1] = 0;
        use()
#else
        use();
        owner[mine - 1] = 0
#endif
     :: true             // it is ended
     fi
  :: else
  fi;
  exists[number] = false
}

// Any thread that looks for tasks.
active proctype thief()
{
  byte i;
  do
  :: i < queues ->
     assert(made[i]);
     i++
  :: break
  od
}

init {
  byte i;
  atomic {
    for (i : 1 .. THREADS) { run thread() }
  }
}
