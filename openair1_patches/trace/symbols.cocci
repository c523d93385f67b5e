// SPDX-License-Identifier: BSD-3-Clause
/// Symbol processing of the PUSCH begins and ends where OAI's own statistic of it does.
///
//# The function has no other way out between the two calls, in the versions of expected.txt.
///
// Confidence: High
// Comments: v2.1.0 to v2.4.0; before trace/symbols_serial.cocci, later trace/symbols_group.cocci
// Options: --no-includes --macro-file macros.h

@already@
@@
(
  WS_OAI_SYMBOLS_BEGIN(...);
|
  WS_OAI_SYMBOLS_END();
)

@depends on !already@
type R, T1, T2, T3;
symbol ulsch_id, frame, slot;
expression X;
@@
R nr_rx_pusch_tp(..., T1 ulsch_id, T2 frame, T3 slot, ...)
{
<...
(
  start_meas(&X->rx_pusch_symbol_processing_stats);
+ WS_OAI_SYMBOLS_BEGIN(frame, slot, ulsch_id);
|
+ WS_OAI_SYMBOLS_END();
  stop_meas(&X->rx_pusch_symbol_processing_stats);
)
...>
}
