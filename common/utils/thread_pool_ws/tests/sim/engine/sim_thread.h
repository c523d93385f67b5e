// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_thread.h
/// Threads and CPUs of the simulated machine, and the clock of each.
///
/// Time  Each thread has its own clock while it runs, and goes on until that is later than the next event of
///       all others; then it leaves, and the earliest goes on. So everything that threads do to each other
///       happens in order of time.
#ifndef SIM_THREAD_H
#define SIM_THREAD_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "sim_event.h" // IWYU pragma: export
#include "sim_fiber.h" // IWYU pragma: export
#include "sim_machine.h" // IWYU pragma: export

#define SIM_THREADS_MAX 2048u
#define SIM_KEYS 2u ///< of thread-specific data: the core's, the fibers'

/// READY --its CPU takes it--> RUNNING --preempted--> READY
/// RUNNING --waits--> ASLEEP --woken, or time is over--> READY or RUNNING;  RUNNING --returns--> ENDED
typedef enum { SIM_READY, SIM_RUNNING, SIM_ASLEEP, SIM_ENDED } sim_state_t;

typedef enum { SIM_FAIR, SIM_BATCH, SIM_REALTIME } sim_class_t;

typedef struct sim_thread_s sim_thread_t;
struct sim_thread_s {
  uint32_t index; ///< its kernel's number is index + 1
  sim_state_t state;
  uint32_t generation; ///< of its events
  sim_ps_t now_ps; ///< its clock while it runs; when it became ready, or fell asleep, else
  sim_ps_t left_ps; ///< work that it had begun when it was preempted
  sim_ps_t busy_ps; ///< CPU time
  sim_ps_t weighted_ps; ///< CPU time as the fair class compares it
  sim_ps_t taken_ps; ///< when its CPU took it last
  uint32_t cpu; ///< that it runs on, or ran on last
  uint64_t allowed[SIM_CPU_WORDS];
  sim_class_t class;
  int32_t priority; ///< of the real-time class; higher goes first
  uint64_t slack_ns; ///< of its timers
  const void *waits_on; ///< address of the futex
  sim_thread_t *next_waiter, *next_ready;
  bool timed_out;
  bool steals; ///< the host's, that has the CPU: the kernel does not see that it is away
  bool stalled; ///< a fault has stopped it
  uint32_t stall_in; ///< steps until one does (sim_fault_stall_later); 0 = none will
  sim_ps_t stall_ps; ///< for so long
  uint32_t preempted; ///< times that a thread took the CPU from it
  uint64_t sleeps; ///< how often it has given its CPU up by itself, as getrusage() counts
  sim_fiber_t fiber;
  void *(*func)(void *arg);
  void *arg, *result;
  void *joiners; ///< only its address: threads that wait for the end wait there
  void *key[SIM_KEYS]; ///< its own data (pthread_setspecific)
  char name[16];
  sim_ps_t stored_ps; ///< when all that it has stored will be visible
  sim_ps_t fetched_ps; ///< when all lines that it has prefetched will be there
  sim_ps_t cold_ps; ///< its next step takes longer by this
  sim_ps_t slow_ps; ///< each of its steps takes longer by this (sim_fault.h)
};

typedef struct {
  sim_thread_t *current; ///< NULL = idle
  sim_thread_t *first_ready; ///< in order of arrival
  sim_ps_t idle_since_ps, busy_since_ps; ///< its last changes
  bool balances; ///< a tick will look for an idle CPU for its ready threads
  sim_ps_t weighted_ps; ///< the fair class's clock: newcomers begin there
  uint32_t generation; ///< of its slice
} sim_cpu_t;

extern sim_thread_t *sim_thread[SIM_THREADS_MAX];
extern uint32_t sim_threads; ///< ever made
extern sim_cpu_t sim_cpu[SIM_CPUS_MAX];
extern sim_thread_t *sim_self; ///< the thread that runs now; NULL = the engine does
extern uint64_t sim_points;
/// How far a thread may run ahead of the others before it lets them go first. 0 = exact. Less than a line
/// takes from one CPU to the next changes nothing that hardware promises, and saves most switches of fibers.
extern sim_ps_t sim_ahead_ps;

/// @brief Make a thread that is ready at @p at_ps, with the attributes of @p like (NULL: a normal thread that
/// may use all CPUs).
sim_thread_t *sim_thread_new(const sim_thread_t *like, void *(*func)(void *), void *arg, sim_ps_t at_ps);

/// Time of the running thread at which its CPU's next detour is due (sim_disturb.c); 0 = its next step begins
/// cold.
extern sim_ps_t sim_detour_at_ps;
/// CPU time that the group has left in this period of 100 ms.
extern sim_ps_t sim_quota_left_ps;

// What takes time from running threads: interrupts and the host, for a while now and then (detours), cold
// caches after the CPU was idle, and the control group's quota of CPU time.

/// @brief Begin with what sim_machine says.
void sim_disturb_reset(void);

/// @brief The running thread goes on.
void sim_disturb_begins(void);

/// @brief To be called when the running thread's time has reached sim_detour_at_ps, or no quota is left.
void sim_disturb(void);

/// @brief From now on the control group has so much time.
void sim_disturb_set_quota(double cpus);

/// @brief The process stands still for a time (SIGSTOP).
void sim_disturb_stop(sim_ps_t length_ps);

/// @return whether the control group's time is used up: all of its threads stand still
bool sim_disturb_throttles(sim_ps_t now_ps);

/// @return when a group that is throttled at @p now_ps goes on; @p now_ps = it is not
sim_ps_t sim_disturb_goes_on(sim_ps_t now_ps);

/// @brief The running thread has used its CPU for a time.
static inline void sim_charge(sim_ps_t ps)
{
  sim_self->now_ps += ps;
  sim_self->busy_ps += ps;
  sim_quota_left_ps -= ps;
}

/// @brief Let all threads that are due before the running thread go first.
void sim_yield(void);

/// The running thread's generation when it began to run: a thread of another one has lost its CPU since, by
/// what it did itself (it woke a thread that goes first, or left the CPUs it may use).
extern uint32_t sim_generation;

/// @brief The running thread, which has lost its CPU, goes on when a CPU has taken it.
void sim_await_cpu(void);

static inline void sim_step(sim_ps_t ps)
{
  if (sim_self->generation != sim_generation)
    sim_await_cpu();
  sim_charge(ps);
  if (sim_self->now_ps >= sim_detour_at_ps || sim_quota_left_ps <= 0)
    sim_disturb();
  if (sim_event_soonest_ps < sim_self->now_ps - sim_ahead_ps)
    sim_yield();
}

/// @brief Compute for @p ps, and longer where something else takes the CPU meanwhile, or its core is shared.
void sim_work(sim_ps_t ps);

/// @brief Sleep until a time. A timer wakes the thread, late as timers of this machine are.
void sim_sleep_until(sim_ps_t until_ps);

/// @brief The running thread sleeps until it is woken, or until @p until_ps (0 = no limit). @return whether
/// it was woken
bool sim_sleep(sim_ps_t until_ps);

/// @brief Wake a thread that sleeps. @param cpu  where @param from_ps  when the call that does so began
/// @param latency_ps  until its first instruction if that CPU is idle
/// @return as sim_schedule_ready()
bool sim_wake(sim_thread_t *thread, uint32_t cpu, sim_ps_t from_ps, sim_ps_t latency_ps);

/// @brief What a thread may use has changed: move it when it must.
void sim_thread_settle(sim_thread_t *thread, sim_ps_t now_ps);

static inline bool sim_may_use(const sim_thread_t *thread, uint32_t cpu)
{
  return (thread->allowed[cpu / 64] >> (cpu % 64)) & 1;
}

static inline bool sim_cpu_is_idle(uint32_t cpu)
{
  return !sim_cpu[cpu].current && !sim_cpu[cpu].first_ready;
}

/// @return how long a CPU has been idle; 0 = it is not
static inline sim_ps_t sim_idle_ps(uint32_t cpu, sim_ps_t now_ps)
{
  return sim_cpu_is_idle(cpu) ? now_ps - sim_cpu[cpu].idle_since_ps : 0;
}

/// @brief Run the machine until @p done says so, or nothing will happen any more, or time is over.
/// @return whether it is done
bool sim_run(bool (*done)(void), sim_ps_t until_ps);

#endif
