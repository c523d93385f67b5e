// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_relax.h
/// One iteration of a spin, of a length that does not depend on the CPU. Between two looks for work a thread
/// waits for about an eighth of a microsecond. If the CPU has such an instruction, it waits in a state that
/// saves power and leaves the core to its other hardware thread.
#ifndef WS_RELAX_H
#define WS_RELAX_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  WS_RELAX_PAUSE, ///< the pause of ws_atomic.h, repeated to fill the iteration. On every machine
  WS_RELAX_TPAUSE, ///< x86 with WAITPKG: until a time of the time-stamp counter
  WS_RELAX_MWAITX, ///< x86 with MONITORX: for a number of its ticks
  WS_RELAX_WFET, ///< 64-bit ARM with WFXT: until a time of the generic timer
} ws_relax_kind_t;

/// The machine's description of itself; words of another architecture are 0.
typedef struct {
  uint32_t cpuid_7_ecx;
  uint32_t cpuid_80000001_ecx;
  uint64_t hwcap2;
  bool ticks_denied; ///< the process may not read the time-stamp counter (a debugger that records does that)
} ws_relax_machine_t;

/// @brief Choose and measure the wait of an iteration, once in the process: the first call takes at most 0.1
/// ms. Until then an iteration is one pause.
/// @threads  any
void ws_relax_init(void);

/// @brief Wait for one iteration, 0.1 to 0.2 us. The wait may end early, without a reason.
/// @threads   any
/// @progress  no system call
void ws_relax(void);

/// @return the wait in use: "tpause", "mwaitx", "wfet", "pause x4", "isb x3". The text stays valid
/// @threads  any, after ws_relax_init()
const char *ws_relax_name(void);

/// @return the best wait that @p machine offers
ws_relax_kind_t ws_relax_choose(const ws_relax_machine_t *machine);

/// @return pauses that fill an iteration, if @p count of them took @p ns; 0 ns = it could not be measured
uint32_t ws_relax_pauses(uint32_t count, uint64_t ns);

/// @return whether a low-power wait that took @p ns is usable: a hypervisor may have made it too short, or
///         too long
bool ws_relax_accepts(uint64_t ns);

#endif
