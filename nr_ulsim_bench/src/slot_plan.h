// SPDX-License-Identifier: BSD-3-Clause
/// @file slot_plan.h
/// What happens in each slot: phases one after the other, each serial work, then a burst of tasks and a join.
#ifndef BENCH_SLOT_PLAN_H
#define BENCH_SLOT_PLAN_H

#include "bench_backend.h" // IWYU pragma: export
#include "report.h" // IWYU pragma: export
#include "request.h" // IWYU pragma: export

typedef struct {
  uint32_t slot;
  bench_phase_t kind;
  uint64_t serial_ns; ///< work of the producer before the burst
  uint32_t first_task; ///< index into slot_plan_t.task_ns
  uint32_t task_count;
} phase_t;

typedef struct {
  phase_t *phases; ///< those of a slot lie together
  uint32_t phase_count;
  uint32_t slot_count;
  uint64_t *task_ns;
  uint32_t task_count;
  uint32_t tasks_max; ///< of a phase; at least 1
} slot_plan_t;

/// @brief One slot with the bursts of the request, or the slots of its file.
/// The first of several bursts, or one alone of 12 to 14 tasks, is symbol processing; any other is decoding.
/// A file has lines `slot,phase,serial_before_ns,task_count,task_ns...`, the durations separated by spaces;
/// '#' begins a comment line. Slots may have any numbers; a new number begins a new slot. A phase may have
/// any name; `symbol_processing` and `ulsch_decoding` say its kind.
/// @return false after report_error(), which names file and line
bool slot_plan_make(slot_plan_t *plan, const request_t *request, report_t *report);

/// @return Σ over the phases first .. first+count-1 of serial + max(longest task, Σ tasks / cores), and in @p
/// work_ns the sum of all serial work and tasks
double slot_plan_bound_ns(const slot_plan_t *plan, uint32_t first, uint32_t count, uint32_t cores,
                          uint64_t *work_ns);

#endif
