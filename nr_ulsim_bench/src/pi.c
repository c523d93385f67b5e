// SPDX-License-Identifier: BSD-3-Clause
// One parallel reduction: the integral of 4 / (1 + x * x) from 0 to 1, by the midpoint rule.
#include <math.h>

#include "clock.h"
#include "session.h"
#include "work.h"

#define PI 3.14159265358979323846
#define PI_ERROR_MAX 1e-10

void measure_pi(session_t *session)
{
  const request_t *const request = session->request;
  const bench_backend_t *const backend = session->backend;
  report_t *const report = session->report;
  if (!backend->reduce) {
    report_error(report, "n/a: this pool has no reduction");
    return;
  }
  for (uint32_t i = 0; i < request->warm_slots; i++)
    backend->reduce(session->pool, request->intervals, pi_sum);
  const uint64_t begin_ns = clock_now_ns();
  const double sum = backend->reduce(session->pool, request->intervals, pi_sum);
  const uint64_t end_ns = clock_now_ns();
  const double error = fabs(sum / (double)request->intervals - PI);
  if (!(error < PI_ERROR_MAX)) {
    report_error(report, "pi came out as %.15g", sum / (double)request->intervals);
    return;
  }
  report_text(report, "version", backend->version);
  report_count(report, "threads", request->workers + 1);
  report_number(report, "pi_error", error);
  report_number(report, "ns", (double)(end_ns - begin_ns));
}
