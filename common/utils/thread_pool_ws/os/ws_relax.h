// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_relax.h
/// One turn of a spin, of a length that does not depend on the CPU: between two looks for work a thread rests
/// for about an eighth of a microsecond, where the machine has such a wait in a state that saves power and
/// leaves the core to its other hardware thread.
#ifndef WS_RELAX_H
#define WS_RELAX_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  WS_RELAX_PAUSE, ///< the pause of ws_base.h, as often as fills the turn. Everywhere
  WS_RELAX_TPAUSE, ///< x86 with WAITPKG: until a time of the time-stamp counter
  WS_RELAX_MWAITX, ///< x86 with MONITORX: for a number of its ticks
  WS_RELAX_WFET, ///< 64-bit ARM with WFXT: until a time of the generic timer
} ws_relax_kind_t;

/// What the machine says of itself; words of another architecture are 0.
typedef struct {
  uint32_t cpuid_7_ecx;
  uint32_t cpuid_80000001_ecx;
  uint64_t hwcap2;
  bool ticks_denied; ///< the process may not read the time-stamp counter (a debugger that records does that)
} ws_relax_machine_t;

/// @brief Measure what a turn is made of, once in the process: at most 0.1 ms, the first time. Until then a
/// turn is one pause.
/// @threads  any
void ws_relax_init(void);

/// @brief One turn: a bounded wait of 0.1 to 0.2 us. It may end early, and says nothing about why it ends.
/// @threads   any
/// @progress  no system call
void ws_relax(void);

/// @return what a turn is: "tpause", "mwaitx", "wfet", "pause x4", "isb x3". Valid for ever
/// @threads  any, after ws_relax_init()
const char *ws_relax_name(void);

/// @return the best wait that @p machine offers
ws_relax_kind_t ws_relax_choose(const ws_relax_machine_t *machine);

/// @return pauses that fill a turn, if @p count of them took @p ns; 0 ns = it could not be measured
uint32_t ws_relax_pauses(uint32_t count, uint64_t ns);

/// @return whether a low-power turn is of use that took @p ns: a hypervisor may have made nothing of it, or a
/// detour
bool ws_relax_accepts(uint64_t ns);

#endif
