// SPDX-License-Identifier: BSD-3-Clause
/// @file test_place.c
/// A worker that parks leaves a producer's CPU: within the CPUs that it may use now, and without a trace in
/// its affinity. The kernel is the test's.

#include "../../../sleep/ws_affinity.h"
#include "../../../sleep/ws_sleep_state.h"

#include "../../../sleep/ws_idle.h"
#include "../../support/ws_seam.h"

#define ALL UINT64_MAX
#define CPU(number) (UINT64_C(1) << (number))
#define NEVER UINT32_MAX
#define TID 1234
#define GUARD 1235
/// One thread on CPUs 0 to 63, as Linux 6.2 and later see it: what it may use is what it asked for, of what
/// its cpuset has; all of that if it has none.
static struct {
  uint64_t cpuset, asked;
  uint64_t guard, leader; ///< what two threads have asked for that are never confined
  uint32_t cpu; ///< where it runs
  uint32_t calls, sets; ///< of its own
  pid_t of; ///< the thread that its calls must name
  bool wrong_thread; ///< one named another
  uint64_t ever; ///< CPUs that it was ever allowed to use by a call of the pool
  uint32_t taskset_at; ///< its affinity is set to taskset_to, from elsewhere, before this call of its own
  uint64_t taskset_to;
  bool taskset_all; ///< and that of all other threads
  ws_worker_t *returns; ///< it wakes, and returns, during the next call
  uint64_t now_ns;
  uint32_t priority; ///< of the calling thread
} os;

static uint64_t allowed(void)
{
  return os.asked & os.cpuset ? os.asked & os.cpuset : os.cpuset;
}

/// The kernel moves a thread that runs where it may not.
static void settle(void)
{
  if (!((allowed() >> os.cpu) & 1))
    os.cpu = (uint32_t)__builtin_ctzll(allowed());
}

static void taskset(uint64_t cpus)
{
  os.asked = cpus;
  settle();
}

/// An operator sets the CPUs of threads: of the worker, of the two others.
static void set_threads(uint64_t cpus, bool own, bool others)
{
  if (own)
    taskset(cpus);
  if (others)
    os.guard = os.leader = cpus;
}

static void count_call(pid_t pid)
{
  os.wrong_thread |= pid != os.of;
  ws_worker_t *returns = os.returns;
  os.returns = NULL;
  if (returns)
    ws_affinity_return(returns, 0);
  if (os.calls++ == os.taskset_at)
    set_threads(os.taskset_to, true, os.taskset_all);
}

static int sched_getaffinity_seam(pid_t pid, size_t bytes, cpu_set_t *set)
{
  uint64_t cpus = (pid == GUARD ? os.guard : os.leader) & os.cpuset;
  if (pid != GUARD && pid != getpid()) {
    count_call(pid);
    cpus = allowed();
  }
  memset(set, 0, bytes);
  memcpy(set, &cpus, sizeof(cpus));
  return 0;
}

static int sched_setaffinity_seam(pid_t pid, size_t bytes, const cpu_set_t *set)
{
  count_call(pid);
  uint64_t cpus;
  memcpy(&cpus, set, sizeof(cpus));
  if (!(cpus & os.cpuset)) {
    errno = EINVAL;
    return -1;
  }
  os.sets++;
  os.asked = cpus;
  os.ever |= allowed();
  settle();
  return 0;
}

static int32_t ws_os_cpu_seam(void)
{
  return (int32_t)os.cpu;
}

static uint32_t ws_os_priority_seam(int32_t tid)
{
  return os.priority;
}

static uint64_t ws_os_now_ns_seam(void)
{
  return os.now_ns;
}

static struct ws_pool_s pool;
static ws_worker_t worker;
static ws_queue_t lane; ///< of the thread that wakes it

/// A thread on @p cpu has pushed, and goes on.
static void produces(uint32_t cpu)
{
  ws_store_relaxed(&pool.near.producer, cpu + 1 + WS_PRODUCER_STAYS);
}

/// A worker on CPU 1, which is a producer's; the pool was made with the CPUs of @p cpuset.
static void begin(uint64_t cpuset, bool realtime)
{
  memset(&pool, 0, sizeof(pool));
  memset(&worker, 0, sizeof(worker));
  memset(&lane, 0, sizeof(lane));
  pool.mask.mask[0] = cpuset;
  pool.allowed_cpus = (uint32_t)__builtin_popcountll(cpuset);
  pool.cpus = 1; // a quota of less makes no difference
  worker.pool = &pool;
  worker.cpu = -1;
  worker.realtime = realtime;
  ws_init_store(&worker.tid, TID);
  ws_init_store(&ws_sleep_pool(&pool)->priority, realtime ? 50 : 0);
  ws_init_store(&ws_sleep_pool(&pool)->guard_tid, GUARD);
  ws_sleep_worker(&worker)->confine.may = true;
  memset(&os, 0, sizeof(os));
  os.cpuset = cpuset;
  os.asked = os.guard = os.leader = ALL;
  os.cpu = 1;
  os.taskset_at = NEVER;
  os.now_ns = UINT64_C(5000000000);
  produces(1);
}

static uint64_t placements(void)
{
  return ws_load_relaxed(&worker.queue.count.placements);
}

/// One step of a row: a letter, and a number, CPUs of a set in hexadecimal.
static void step(const char *word)
{
  const uint64_t cpus = strtoull(word + 1, NULL, 16);
  const uint32_t number = (uint32_t)strtoul(word + 1, NULL, 10);
  switch (*word) {
    case 'L': // it parks
      ws_affinity_leave(&worker);
      break;
    case 'R': // it wakes
      ws_affinity_return(&worker, 0);
      break;
    case 'C': // a thread outside on a CPU wakes a worker; so many times
      ws_affinity_note_caller(&pool, (ws_here_t){.queue = &lane}, number + 1);
      break;
    case 'c': // it wakes this worker
      os.of = TID;
      ws_affinity_note_caller(&pool, (ws_here_t){.queue = &lane}, number + 1);
      ws_affinity_call(&worker, (ws_here_t){.queue = &lane}, number + 1);
      os.of = 0;
      break;
    case 'g': // the guard, on that CPU, wakes it
      ws_affinity_call(&worker, (ws_here_t){0}, number + 1);
      break;
    case 'V': // it was last seen there
      ws_store_relaxed(&worker.seen_cpu, number + 1);
      break;
    case 'K':
      for (uint32_t i = 0; i < number; i++)
        ws_affinity_note_caller(&pool, (ws_here_t){.queue = &lane}, os.cpu + 1);
      break;
    case 'J': // it waits for tasks here
      ws_affinity_note_helper(&pool, &lane);
      break;
    case 'F': // the guard lets it run elsewhere
      os.of = TID;
      ws_affinity_return(&worker, TID);
      os.of = 0;
      break;
    case 'T': // an operator says where it may run, and where all other threads; of all, it has missed that
      set_threads(cpus, true, false);
      break;
    case 'A':
      set_threads(cpus, true, true);
      break;
    case 'M':
      set_threads(cpus, false, true);
      break;
    case 'Q': // an operator moves the guard alone
      os.guard = cpus;
      break;
    case '!': // after so many calls of its own an operator says that it may run on CPU 2; all threads
    case '*':
      os.taskset_at = number;
      os.taskset_to = CPU(2);
      os.taskset_all = *word == '*';
      break;
    case 'S': // the cpuset changes
      os.cpuset = cpus;
      settle();
      break;
    case '@': // it runs on a CPU
      os.cpu = number;
      break;
    case 'P': // a producer comes to a CPU, or to where the worker is
      produces(word[1] ? number : os.cpu);
      break;
    case '=': // that thread has a priority
      os.priority = number;
      break;
    case 'W': // the worker is pinned; the pool has so many CPUs
      worker.cpu = (int32_t)number;
      break;
    case 'I': // its thread begins; keep_affinity
      pool.settings.keep_affinity = number == 1;
      ws_idle_prepare(&worker);
      break;
    case 'H': // the pool busy-polls
      ws_init_store(&ws_sleep_pool(&pool)->spin, WS_SPIN_HOT);
      break;
    case 'D': // the pool has no guard
      ws_init_store(&ws_sleep_pool(&pool)->guard_tid, 0);
      break;
    case 'N':
      pool.allowed_cpus = number;
      break;
    case 'r': // the worker wakes, and returns, during the next call
      os.returns = &worker;
      break;
    case '+': // time passes
      os.now_ns += UINT64_C(2000000000);
      break;
    default: // what is counted begins here
      os.calls = os.sets = 0;
      os.ever = 0;
  }
}

#define NORMAL 1u
#define REALTIME 2u
#define BOTH 3u
#define ANY UINT32_MAX

/// A worker's steps, and then: which CPUs it may use; where it runs; how often it has moved off; how many
/// calls the pool has made at most, and how many of them change an affinity.
static const struct {
  uint32_t classes;
  uint64_t cpuset;
  const char *steps;
  uint64_t allowed;
  uint32_t cpu, placements, calls_max, sets;
} rows[] = {
    // it moves, and keeps its affinity; what the cpuset becomes later it may use as others do
    {BOTH, 0xf, "L R", 0xf, 0, 1, ANY, ANY},
    {BOTH, 0xf, "L R Sff", 0xff, 0, 1, ANY, ANY},
    {BOTH, 0xf, "D L R", 0xf, 0, 1, ANY, ANY},
    // it stays where it should: beside the producer, where it is pinned, where there is no other CPU
    {BOTH, 0xf, "@2 L R", 0xf, 2, 0, ANY, ANY},
    {REALTIME, 0xf, "@2 L R", 0xf, 2, 0, 0, 0},
    {BOTH, 0xf, "W1 L R", 0xf, 1, 0, 0, 0},
    {BOTH, 0xf, "T2 L R", 0x2, 1, 0, ANY, 0},
    // an operator has taken CPUs from the thread: they stay taken, also those that it could ask for
    {BOTH, 0xf, "T3 L R", 0x3, 0, 1, ANY, ANY},
    {BOTH, 0xf, "Ta L R", 0xa, 3, 1, ANY, ANY},
    {BOTH, 0xff, "T3 L R", 0x3, 0, 1, ANY, ANY},
    {BOTH, 0xf, "L R T3 @1 + L R", 0x3, 0, 2, ANY, ANY},
    // or does so while it moves: of this thread alone the gaps before its second and its fourth call cannot
    // be closed; of all threads it is found then, or when the worker parks again
    {BOTH, 0xf, "!0 L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "!2 L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "!4 L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "*0 L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "*1 L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "*2 L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "*3 L R P + L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "*4 L R", 0x4, 2, ANY, ANY, ANY},
    {BOTH, 0xf, "L R @1 M4 + L R", 0x4, 2, ANY, ANY, ANY},
    // but where only the guard was moved, or only other threads have what they had before
    {BOTH, 0xf, "L R Q1 @1 + L R", 0xf, 0, 2, ANY, ANY},
    {BOTH, 0xf, "L R Q1 @1 + L R A8 P + L R", 0x8, 3, ANY, ANY, ANY},
    {BOTH, 0xf, "L R T3 Mf @1 + L R", 0x3, 0, 2, ANY, ANY},
    // or while it sleeps, also with the CPUs that it has asleep
    {NORMAL, 0xf, "L T8 R", 0x8, 3, 1, ANY, ANY},
    {NORMAL, 0xf, "L T8 R + P3 L R", 0x8, 3, 1, ANY, ANY},
    {NORMAL, 0x3, "L A1 R", 0x1, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "L A1 F", 0x1, 0, 1, ANY, ANY},
    // the cpuset is changed between two moves, up and down
    {BOTH, 0x3, "L R Sff @1 + L R", 0xff, 0, 2, ANY, ANY},
    {BOTH, 0x3, "L R Sff @1 + L R S3 @1 + L R", 0x3, 0, 3, ANY, ANY},
    {NORMAL, 0x3, "L Sff R P + L R", 0xff, 1, 2, ANY, ANY},
    // or while it sleeps, also without the CPUs that it has asleep, or some; the guard lets it run elsewhere
    {NORMAL, 0xf, "L S6 R", 0x6, 2, 1, ANY, ANY},
    {NORMAL, 0xf, "L S2 R Sf", 0xf, 1, 1, ANY, ANY},
    {NORMAL, 0x3, "L R P L S1 F R S3", 0x3, 0, 2, ANY, ANY},
    // a normal worker pays for the system call in any case: it follows each producer
    {NORMAL, 0x3, "L R P L R P L R P L R", 0x3, 1, 4, ANY, ANY},
    // asleep it is kept off the producer's CPU; awake it may run anywhere, after few calls
    {NORMAL, 0x3, "L", 0x1, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "L R L", 0x1, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "L # R", 0x3, 0, 1, 3, ANY},
    {NORMAL, 0x3, "L R L # R", 0x3, 0, 1, 2, ANY},
    // if the producer has waited for tasks here lately: else its CPU may be free soon
    {NORMAL, 0x3, "C1 L R", 0x3, 1, 0, 0, 0},
    {NORMAL, 0x3, "C1 J L R", 0x3, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "J K64 L R", 0x3, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "J K65 L R", 0x3, 1, 0, 0, 0},
    {REALTIME, 0x3, "C1 L R", 0x3, 0, 1, ANY, ANY},
    // or if it busy-polls: it would park there again and again, also when that thread is long gone
    {NORMAL, 0x3, "H C1 L R", 0x3, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "H @0 C1 # L R", 0x3, 0, 0, 0, 0},
    // its waker is on the CPU where it sleeps, goes on, and moves it off
    {BOTH, 0x3, "J L c0", 0x2, 1, 1, ANY, ANY},
    {BOTH, 0x3, "J L c0 R", 0x3, 1, 1, ANY, ANY},
    {NORMAL, 0xf, "J L T9 c0", 0x9, 0, 1, ANY, ANY},
    {NORMAL, 0xf, "J L T9 c0 R", 0x9, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "J L A1 c0 R", 0x1, 0, 1, ANY, ANY},
    // but not from elsewhere, if it is pinned, if there is one CPU, if that thread sleeps soon; nor the guard
    {BOTH, 0x3, "J L # c1", ANY, 0, 1, 0, 0},
    {BOTH, 0x3, "J L # W0 c0", ANY, 0, 1, 0, 0},
    {BOTH, 0x3, "J L # N1 c0", ANY, 0, 1, 0, 0},
    {NORMAL, 0x3, "V1 c1", 0x3, 1, 0, 0, 0},
    {REALTIME, 0x3, "V1 c1", 0x1, 0, 0, ANY, 1},
    {BOTH, 0x3, "J V1 g1", 0x3, 1, 0, 0, 0},
    {REALTIME, 0x3, "=50 V1 c1", 0x3, 1, 0, 0, 0},
    // a real-time worker is woken where it last ran: moved off, it may sleep anywhere
    {REALTIME, 0x3, "L", 0x3, 0, 1, ANY, ANY},
    // no worker moves where there is one CPU, or where the settings say so
    {BOTH, 0x3, "N1 L R", 0x3, 1, 0, 0, 0},
    {BOTH, 0x3, "I0 L R", 0x3, 0, 1, ANY, ANY},
    {BOTH, 0x3, "I1 L R", 0x3, 1, 0, 0, 0},
    // a real-time producer of the workers' priority goes on, and the kernel wakes the worker elsewhere
    {REALTIME, 0x3, "=49 C1 L", 0x3, 0, 1, ANY, 2},
    {REALTIME, 0x3, "=50 C1 L", 0x3, 1, 0, ANY, 0},
    {REALTIME, 0x3, "=51 C1 L", 0x3, 1, 0, ANY, 0},
    // the CPU where it may run asleep is taken: the guard lets it run elsewhere, also if it wakes meanwhile
    {NORMAL, 0x3, "L F", 0x3, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "L F # R", 0x3, 0, 1, ANY, 0},
    {NORMAL, 0xf, "T3 L # F", 0x3, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "L r F", 0x3, 0, 1, ANY, ANY},
    {NORMAL, 0x3, "L r F P L R", 0x3, 1, 2, ANY, ANY},
};

static void play(uint32_t row, bool realtime)
{
  char steps[64];
  snprintf(steps, sizeof(steps), "%s", rows[row].steps);
  begin(rows[row].cpuset, realtime);
  for (char *rest = steps, *word; (word = strtok_r(rest, " ", &rest));)
    step(word);
  const bool good = (rows[row].allowed == ANY || allowed() == rows[row].allowed) && os.cpu == rows[row].cpu
                    && (rows[row].placements == ANY || placements() == rows[row].placements)
                    && os.calls <= rows[row].calls_max && (rows[row].sets == ANY || os.sets == rows[row].sets)
                    && !os.wrong_thread;
  if (!good)
    printf("\n%s of %llx: may use %llx, is on %u, moved %u times, %u calls, %u changes%s\n", rows[row].steps,
           (unsigned long long)rows[row].cpuset, (unsigned long long)allowed(), os.cpu,
           (uint32_t)placements(), os.calls, os.sets, os.wrong_thread ? ", of a wrong thread" : "");
  CU_ASSERT_TRUE(good);
}

TEST_CASE(workers_go_where_they_should)
{
  for (uint32_t row = 0; row < TEST_COUNT(rows); row++) {
    if (rows[row].classes & NORMAL)
      play(row, false);
    if (rows[row].classes & REALTIME)
      play(row, true);
  }
}

/// The guard may lose its CPU in the middle: what it sets on the way must do no harm.
TEST_CASE(the_guard_gives_back_no_more_than_was_there)
{
  begin(0xf, false);
  for (const char *const *word = (const char *const[]){"T3", "L", "#", "F", NULL}; *word; word++)
    step(*word);
  CU_ASSERT_EQUAL(os.ever, 0x3);
}

/// Producers on all CPUs, one after the other: a real-time worker is never in the right place. It moves a
/// thousand times a second, and no more. Its waker moves it where that is not enough.
TEST_CASE(it_follows_at_a_bounded_rate)
{
  begin(0x3, true);
  const uint64_t end_ns = os.now_ns + UINT64_C(1000000000);
  for (; os.now_ns < end_ns; os.now_ns += 300000) {
    produces(os.cpu);
    ws_affinity_leave(&worker);
    ws_affinity_return(&worker, 0);
  }
  CU_ASSERT_TRUE(placements() > 800 && placements() <= 1000);
}

TEST_MAIN_SEAMS("place", SEAM(sched_getaffinity), SEAM(sched_setaffinity), SEAM(ws_os_cpu),
                SEAM(ws_os_priority), SEAM(ws_os_now_ns))
