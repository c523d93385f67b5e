// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_scenario.h
/// A scenario: machine, pools, threads that push, faults. All of it is drawn from one seed.
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "../../../include/ws_pool.h" // IWYU pragma: export
#include "sim_fault.h" // IWYU pragma: export
#include "sim_machine.h" // IWYU pragma: export

#define SIM_POOLS_MAX 3u
#define SIM_WORKERS_MAX 12u
#define SIM_ACTORS_MAX 6u
#define SIM_ACTIONS_MAX 6u
#define SIM_EVENTS_MAX 10u
/// Priority of the threads of other programs; all of the pools' threads are below.
#define SIM_HOG_PRIORITY 99

/// What the program uses the core through.
typedef enum {
  SIM_SHAPE_CORE, ///< its own interface
  SIM_SHAPE_FIFO, ///< the shim of shape A: elements, response FIFOs
  SIM_SHAPE_ARRAY, ///< B1: arrays of answers
  SIM_SHAPE_COUNTER, ///< B2: answers that count
  SIM_SHAPE_JOINS ///< its own interface, by a random program (stress/ws_joins.h)
} sim_shape_t;

/// What a task does.
typedef enum {
  SIM_TASK_WORK, ///< computes
  SIM_TASK_NEST, ///< pushes tasks and waits for them
  SIM_TASK_SPAWN, ///< pushes tasks and does not wait
  SIM_TASK_SLEEP, ///< sleeps; the pool does not see it
  SIM_TASK_BLOCK, ///< sleeps between ws_blocking_begin and ws_blocking_end
  SIM_TASK_CROSS, ///< pushes tasks to the next pool and waits for them
  SIM_TASK_PAIR, ///< every second task waits for the one before it, 20 ms at most
} sim_task_kind_t;

typedef enum { SIM_BY_PUSH, SIM_BY_BATCH, SIM_BY_TRY, SIM_BY_KINDS } sim_push_by_t;

/// How the thread that pushes waits.
typedef enum {
  SIM_END_GROUP,
  SIM_END_TAG, ///< for a group that its tasks complete themselves
  SIM_END_EVENT, ///< ws_pool_await
  SIM_END_POOL, ///< ws_pool_wait
  SIM_END_NOTHING, ///< it goes on
  SIM_END_KINDS
} sim_end_t;

/// The thread's hint to the pool about the burst.
typedef enum {
  SIM_HINT_NONE,
  SIM_HINT_PREWAKE,
  SIM_HINT_PREWAKE_AT,
  SIM_HINT_PHASE,
  SIM_HINT_KINDS
} sim_hint_t;

typedef struct {
  uint32_t pool;
  uint32_t count; ///< tasks
  sim_push_by_t by;
  sim_end_t end;
  sim_hint_t hint;
  sim_task_kind_t kind;
  uint32_t every; ///< one task in so many is of that kind; the others compute
  sim_task_kind_t leaf; ///< kind of the innermost tasks of SIM_TASK_NEST
  uint32_t depth, fan; ///< of what tasks push
  uint32_t cover; ///< tasks without a group that are pushed on top of a burst before it is waited for
  uint32_t earlier; ///< tasks that were pushed before, and that each task of the burst waits for; 0 = none
  double work_us; ///< mean, and mean time of a sleep
  uint32_t repeat; ///< bursts
  double period_us; ///< from one to the next; 0 = at once
} sim_burst_t;

typedef struct {
  double pause_us; ///< before it
  uint32_t stops_look; ///< it comes while the pool's guard is stopped in this look from now; 0 = not so
  bool sets_spin; ///< it is no burst, but a change of the mode
  ws_spin_t spin;
  sim_burst_t burst;
} sim_action_t;

/// A thread outside that pushes.
typedef struct {
  double start_us;
  uint32_t actions;
  sim_action_t action[SIM_ACTIONS_MAX];
} sim_actor_t;

typedef struct {
  uint32_t workers;
  ws_class_t class;
  int32_t priority;
  bool pinned;
  int32_t core[SIM_WORKERS_MAX];
  uint32_t capacity, lanes;
  ws_full_t full;
  bool fifo;
  ws_spin_t spin;
  double lead_us, spin_us, join_spin_us;
  bool confined; ///< the thread that makes it may use CPU 0 only, its workers have CPUs of their own
  bool host_threads; ///< the host creates the threads
  bool no_guard; ///< there is no thread for the guard, which would repair a lost wake
  bool refused; ///< the system refuses threads for a while: workers are made later
  double late_us; ///< made so long after the threads outside have begun
  bool aborts; ///< stopped by an abort
} sim_pool_plan_t;

/// What happens from outside the program.
typedef enum {
  SIM_EVENT_HOG, ///< a thread of a higher class takes a CPU
  SIM_EVENT_THROTTLE, ///< all CPUs are taken: the control group's time is used up
  SIM_EVENT_MASK_ONE, ///< taskset -p
  SIM_EVENT_MASK_ALL, ///< taskset -ap
} sim_outside_kind_t;

typedef struct {
  sim_outside_kind_t kind;
  double at_us, length_us;
  uint32_t cpu;
  uint32_t thread; ///< which one, modulo those that there are
  uint64_t mask;
} sim_outside_t;

typedef struct {
  uint64_t seed;
  sim_shape_t shape;
  sim_machine_t machine;
  sim_fault_t fault;
  uint32_t pools;
  sim_pool_plan_t pool[SIM_POOLS_MAX];
  uint32_t actors;
  uint32_t generations; ///< the second begins when the first has ended
  sim_actor_t actor[SIM_ACTORS_MAX];
  bool actors_realtime;
  double call_stalls; ///< share of calls of the pool in the middle of which the thread stops
  double look_stalls; ///< share of looks (sim_strand.c) that make some thread stop soon after
  double push_starves; ///< share of pushes before which a spinning worker with an open inbox loses its CPU
  double hand_stalls; ///< share of fills (sim_hand.c) in the middle of which the thread stops
  double guard_slow_us; ///< each of a guard's steps takes longer by this, where threads are of unlike speed
  bool together; ///< threads that push begin at the same moment
  bool prioritized; ///< tasks of all three priorities
  bool hinted; ///< tasks with hints for NUMA nodes
  bool limits; ///< waits have time limits, and are repeated until they are in time
  bool yields; ///< some tasks stand for fibers that yield (sim_ride.c)
  uint32_t outsides;
  sim_outside_t outside[SIM_EVENTS_MAX];
  bool stops_early; ///< the pools are stopped while threads push
  double stop_us; ///< so long after they have begun
  bool stops_backwards; ///< the last pool first
  bool destroys; ///< without a stop before
  bool changes_masks; ///< another thread does, while it runs
  bool looks_hot; ///< are the workers of busy-polling pools awake
  bool looks_quiet; ///< before the stop: is the pool quiet when everything has run
  uint32_t rounds; ///< times that all of this happens
} sim_scenario_t;

/// Seeds from here on have the shape SIM_SHAPE_JOINS.
#define SIM_JOINS_FIRST UINT64_C(1000000000)
/// Of these, seeds from here on play loops.
#define SIM_LOOPS_FIRST UINT64_C(2000000000)

/// @brief Draw all of a scenario from @p seed. One in five uses a shim.
void sim_scenario_draw(sim_scenario_t *scenario, uint64_t seed);

#endif
