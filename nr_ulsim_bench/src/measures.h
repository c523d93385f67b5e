// SPDX-License-Identifier: BSD-3-Clause
/// @file measures.h
/// The measurements: slots.c, stream.c, coliseum.c, wake.c. Each fills the session's report.
#ifndef BENCH_MEASURES_H
#define BENCH_MEASURES_H

#include "session.h"

void measure_slots(session_t *session);
void measure_stream(session_t *session);
void measure_coliseum(session_t *session);
void measure_wake(session_t *session);
void measure_idle(session_t *session);

/// @brief How long a task of the coliseum takes here. Needs no pool.
void measure_calibration(report_t *report);

#endif
