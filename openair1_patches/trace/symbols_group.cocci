// SPDX-License-Identifier: BSD-3-Clause
/// As trace/symbols.cocci, of users that are received together. The phase has the first one's id, which is its place
/// in the cell's array.
///
// Confidence: High
// Comments: develop since 2026
// Options: --no-includes --macro-file macros.h

@already@
@@
(
  WS_OAI_SYMBOLS_BEGIN(...);
|
  WS_OAI_SYMBOLS_END();
)

@depends on !already@
type R, T1, T2, T3, T4;
symbol frame, slot, pusch_vars;
identifier G, P;
expression X;
@@
R nr_rx_pusch_group_tp(T1 *G, T2 **P, ..., T3 frame, T4 slot)
{
<...
(
  start_meas(&X->rx_pusch_symbol_processing_stats);
+ WS_OAI_SYMBOLS_BEGIN(frame, slot, P[0] - G->pusch_vars);
|
+ WS_OAI_SYMBOLS_END();
  stop_meas(&X->rx_pusch_symbol_processing_stats);
)
...>
}
