// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_relax.h
/// One iteration of a spin, of a length that does not depend on the CPU: as many pauses as fill about 100 ns.
#ifndef WS_RELAX_H
#define WS_RELAX_H

#include <stdint.h>

/// @brief Measure the pause, once in the process: some microseconds.
/// @threads  any
void ws_relax_init(void);

/// @brief Wait for one iteration.
/// @threads   any, after ws_relax_init()
/// @progress  no system call
void ws_relax(void);

/// @return pauses in an iteration, at least 1
/// @threads  any, after ws_relax_init()
uint32_t ws_relax_pauses(void);

#endif
