// SPDX-License-Identifier: BSD-3-Clause
/// As trace/decoding_slot.cocci, where the function is given a list of the users, and is called if there is one.
///
// Confidence: High
// Comments: develop since 2026
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_DECODING_LIST(...);

@depends on !already@
type R, T1, T2, T3, T4, T5;
symbol frame_rx, slot_rx, ulsch_to_decode;
identifier G, N;
@@
R nr_ulsch_procedures(T1 *G, T2 frame_rx, T3 slot_rx, T4 *ulsch_to_decode, T5 N, ...)
{
+ WS_OAI_DECODING_LIST(frame_rx, slot_rx, ulsch_to_decode);
  ...
}
