// SPDX-License-Identifier: BSD-3-Clause
/// @file session.h
/// One measurement inside its own process: the pool under test, its classes, and what is asked of it.
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "bench_backend.h" // IWYU pragma: export
#include "counters.h" // IWYU pragma: export
#include "report.h" // IWYU pragma: export
#include "request.h" // IWYU pragma: export

/// The burst of measure_idle().
#define IDLE_BURST_TASKS 50u

typedef struct {
  const request_t *request;
  report_t *report;
  const bench_backend_t *backend;
  void *pool;
  uint32_t cores; ///< CPUs that this process may use
  counters_t counters; ///< coliseum
} session_t;

/// @brief Serve @p request and fill @p report: load the pool's module, create the pool, start its threads,
/// drop the producer's class, measure.
/// @param session  out. Its pool is left: to destroy it may hang or crash, so the result must be safe before
void serve(session_t *session, const request_t *request, report_t *report);

/// @brief Check that each task ran exactly once since the producer was set. Reports an error otherwise.
bool session_check_tasks(session_t *session, uint64_t pushed_tasks);

/// @return number of tasks that a stream pushes before its only wait, with those that its tasks push
static inline uint32_t session_stream_tasks(const request_t *request)
{
  return (request->warm_slots + request->slots) * (1 + request->fan);
}

static inline void session_arm(const session_t *session, uint32_t tasks)
{
  if (session->backend->arm)
    session->backend->arm(session->pool, tasks);
}

// The measurements, each in a file of its own. They fill the session's report.
void measure_slots(session_t *session);
void measure_stream(session_t *session);
void measure_coliseum(session_t *session);
void measure_wake(session_t *session);
void measure_idle(session_t *session);
void measure_pi(session_t *session);

#endif
