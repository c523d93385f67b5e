// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_machine.h
/// What a simulated machine is: its CPUs, and what each thing takes there. Written by ci/simulate from a
/// machine file (machines/*.toml), as one line of "name=value" words.
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_CPUS_MAX 256u
#define SIM_CPU_WORDS (SIM_CPUS_MAX / 64)
/// Of a distribution: its 0th, 10th, 50th, 90th, 99th and 99.9th percentile.
#define SIM_QUANTILES 6u
#define SIM_GAPS_MAX 8u

/// Time in picoseconds: a machine's costs are fractions of a nanosecond, and a run takes seconds.
typedef int64_t sim_ps_t;
#define SIM_PS_PER_NS INT64_C(1000)
#define SIM_PS_PER_US INT64_C(1000000)
#define SIM_PS_PER_MS INT64_C(1000000000)
#define SIM_PS_PER_S INT64_C(1000000000000)

/// A time that differs from one occasion to the next.
typedef struct {
  double ns[SIM_QUANTILES];
} sim_spread_t;

/// How long a thread takes to wake, by how long its CPU has been idle.
typedef struct {
  uint32_t count;
  double idle_us[SIM_GAPS_MAX]; ///< ascending: the spread beside it holds from this idle time on
  sim_spread_t spread[SIM_GAPS_MAX];
} sim_wake_t;

typedef struct {
  uint32_t cpus;
  uint32_t smt; ///< CPUs of a core, neighbours by number
  uint32_t llc_cpus; ///< CPUs that share a last-level cache
  uint32_t node_cpus; ///< CPUs of a NUMA node
  double local_ns; ///< an atomic access to a line that the CPU has
  double modify_ns; ///< a read-modify-write takes longer by
  double smt_ns, llc_ns, node_ns, far_ns; ///< a line that a CPU at that distance wrote last
  double fence_ns, pause_ns, clock_ns;
  double syscall_ns; ///< a call into the kernel that finds nothing to do
  double wake_busy_ns; ///< a futex call that wakes a thread where no CPU has to be woken: time of the caller
  double switch_ns; ///< from one thread to the next on a CPU
  double migrate_ns; ///< more, if the thread comes from another CPU
  double create_ns; ///< pthread_create: time of the caller
  double wake_minor_us; ///< below this idle time a CPU polls: waking it needs no interrupt
  double smt_slowdown; ///< factor of work while the other CPU of the core is busy, too
  double slice_us, granularity_us; ///< of the fair class
  /// Share of wakes of fair threads that go to the CPU the thread ran on last, though that is busy and
  /// another is idle (kernels that pack virtual CPUs).
  double stay_share;
  double quota_cpus; ///< CPUs' worth of time of the control group; 0 = unlimited
  double detours_per_s; ///< times in a second that something else takes a busy CPU: interrupts, the host
  sim_spread_t detour; ///< for how long
  double sleep_cpu_ns; ///< CPU time of a thread that sleeps and wakes, besides its system calls
  double tick_us; ///< an idle CPU takes a thread that waits for another CPU at the next tick; 0 = never
  sim_wake_t call; ///< a futex call that wakes a thread on an idle CPU: time of the caller
  sim_wake_t wake; ///< from that call to the thread's first instruction
  /// The same two where the caller's own CPU has just been idle, too; count 0 = no difference.
  sim_wake_t fresh_call, fresh;
  /// The same two where the thread takes another CPU from one that runs there; count 0 = at once.
  sim_wake_t kick_call, kick;
  sim_wake_t timer; ///< from the time set to that
  sim_wake_t cold; ///< a thread takes longer by after its CPU was idle: caches and predictors are cold
} sim_machine_t;

extern sim_machine_t sim_machine;

/// @brief A machine whose costs are round numbers, for tests of the engine and for exploring.
void sim_machine_default(void);

/// What a word "name=value" sets.
typedef enum {
  SIM_WORD_COUNT, ///< uint32_t
  SIM_WORD_NUMBER, ///< double
  SIM_WORD_FLAG, ///< bool
  SIM_WORD_SEED, ///< uint64_t
  SIM_WORD_SPREAD,
  SIM_WORD_WAKE,
  SIM_WORD_CALL ///< call() takes the value
} sim_word_kind_t;

typedef struct {
  const char *name; ///< NULL = the list ends
  sim_word_kind_t kind;
  void *at;
  bool (*call)(const char *value); ///< @return false: it is no such value
} sim_word_t;

/// @brief Take one word of a list. @return false: there is no such name, or the value is none
bool sim_word_read(const sim_word_t *words, const char *text);

/// @brief Take one word of the machine, in the same way.
bool sim_machine_set(const char *text);

/// @return one occasion's time
sim_ps_t sim_spread_draw(const sim_spread_t *spread);
/// @param rank  of the occasion, in [0, 1): a wake that is slow for the sleeper is so for the caller
sim_ps_t sim_wake_draw(const sim_wake_t *wake, sim_ps_t idle_ps, double rank);

/// @return what a line costs CPU @p to that CPU @p from had
double sim_distance_ns(uint32_t from, uint32_t to);

static inline sim_ps_t sim_ps(double ns)
{
  return (sim_ps_t)(ns * 1000.);
}

#endif
