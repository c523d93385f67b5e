// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_world.h
/// One worker in a world of its own: the clock, what it sees, and how long its wakes take are the test's,
/// in a suite with the seams world_seams.
#ifndef WS_WORLD_H
#define WS_WORLD_H

#include "../../prewake/ws_prewake_state.h" // IWYU pragma: export
#include "../../sleep/ws_idle.h" // IWYU pragma: export
#include "ws_series.h" // IWYU pragma: export
#include "ws_test.h" // IWYU pragma: export

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SLOT_NS (500 * US)
#define LOOK_NS 20u ///< a look at the clock
#define TURN_NS 300u ///< an iteration of a spin
#define YIELD_NS 400u ///< a system call that finds no other thread to run

typedef struct {
  uint64_t now_ns;
  uint64_t visible_ns; ///< work is visible from then on
  bool pushed; ///< it has been announced
  uint64_t taken_ns; ///< the next iteration lasts so much longer: another thread has the CPU
  uint32_t offers; ///< times that it offered its CPU to threads of its priority
  bool producer_here;
  uint64_t waking_ns; ///< how long a wake takes
  uint64_t late_ns; ///< sum: from a burst to its first instruction
  uint32_t rises; ///< timer wakes of the worker
} world_t;

extern world_t world;
extern struct ws_pool_s world_pool;
extern ws_worker_t world_worker;
extern ws_prewake_pool_t world_prewake;
extern ws_prewake_worker_t world_worker_prewake;
extern ws_idle_t world_idle; ///< the worker's, in its last gap

/// @brief TEST_MAIN_SEAMS: the world in the seam.
void world_seams(void);

/// @brief A new pool with its one worker, on 4 CPUs, with default settings; wakes take 20 us.
void world_begin(ws_spin_t spin);

/// @brief The worker goes to sleep now. @return the time of its timer; 0 = none
uint64_t world_plan(void);

/// @brief The worker is awake now.
void world_wake(ws_wake_by_t by);

/// @brief The worker has just run out of work; the next comes @p gap_ns later, and takes @p busy_ns.
void world_gap(uint64_t gap_ns, uint64_t busy_ns);

/// @brief world_gap() with a burst of 50 us. @return time that the worker spun in the gap
uint64_t world_spun_in(uint64_t gap_ns);

/// @brief Bursts of 50 us at the times of @p series; those that have passed are left out. @return the sum of
/// what they were late
uint64_t world_bursts(series_t *series, uint32_t count);

/// @return slots of 0.5 ms, each with a burst, from now on
series_t world_slots(uint64_t jitter_ns);

/// @return a counter of world_worker
uint64_t world_count(const ws_au64_t *counter);

/// @return time that it has spun so far
uint64_t world_spun(void);

/// @return whether a time is about another: within 2 us and 2 %
bool world_about(uint64_t value_ns, uint64_t wanted_ns);

#endif
