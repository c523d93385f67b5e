// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_plan.h
/// What a producer pushes: slots of phases of tasks, repeated in order.
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "sim_machine.h" // IWYU pragma: export

/// Pushed at once, then joined.
typedef struct {
  uint32_t slot; ///< phases of a slot are neighbours
  sim_ps_t serial_ps; ///< the producer computes before it pushes
  uint32_t first_task, count;
} sim_phase_t;

typedef struct {
  sim_phase_t *phase;
  uint32_t phases;
  sim_ps_t *task_ps;
  uint32_t tasks;
  uint32_t tasks_max; ///< of a phase
} sim_plan_t;

/// @brief "12x6+22x28": one slot, tasks x microseconds of each phase. @return false: it is no such text
bool sim_plan_from_text(sim_plan_t *plan, const char *text);

/// @brief Recorded slots: lines "slot,phase,serial_before_ns,task_count,task_ns...", separated by commas and
/// blanks. @return false: there is no such file, or a line is none
bool sim_plan_from_file(sim_plan_t *plan, const char *path);

/// @return the first phase of the slot behind the one that begins at @p phase; 0 after the last
uint32_t sim_plan_next_slot(const sim_plan_t *plan, uint32_t phase);

#endif
