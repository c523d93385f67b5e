// SPDX-License-Identifier: BSD-3-Clause
/// ULSCH decoding of all transport blocks of a slot, from the moment it is known that there is one to the return:
/// what OAI's own statistic of it covers, which is kept in simulators only.
///
//# CRC and the indication to the MAC are in it, as in the statistic.
///
// Confidence: High
// Comments: v2.3.0 to v2.4.0; later trace/decoding_group.cocci
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_DECODING_SCOPE(...);

@depends on !already@
type R, T1, T2, T3, T4, T5;
symbol frame_rx, slot_rx, ulsch_to_decode, ULSCH_ids;
identifier G;
expression N;
@@
R nr_ulsch_procedures(T1 *G, T2 frame_rx, T3 slot_rx, T4 *ulsch_to_decode, ...)
{
<...
+ WS_OAI_DECODING_SCOPE(frame_rx, slot_rx, ulsch_to_decode, G->max_nb_pusch);
  T5 ULSCH_ids[N];
...>
}
