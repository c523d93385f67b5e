// SPDX-License-Identifier: BSD-3-Clause
/// PUSCH reception before it had a task for each symbol: the whole function is the phase.
///
//# Channel estimation is part of it, which trace/symbols.cocci leaves out: the times do not compare.
///
// Confidence: High
// Comments: v2.0.0
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_SYMBOLS_SCOPE(...);

@depends on !already@
type R, T1, T2, T3;
symbol ulsch_id, frame, slot;
@@
R nr_rx_pusch(..., T1 ulsch_id, T2 frame, T3 slot, ...)
{
+ WS_OAI_SYMBOLS_SCOPE(frame, slot, ulsch_id);
  ...
}
