// SPDX-License-Identifier: BSD-3-Clause
/// ULSCH decoding begins when the first transport block's segments are about to be pushed.
///
//# Of several users in a slot the next ones are demodulated between this and the end.
///
// Confidence: High
// Comments: v2.0.0 to v2.2.0; trace/decoding_end.cocci is the other half
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_DECODING_BEGIN(...);

@depends on !already@
type R, T1, T2, T3;
symbol ULSCH_id, frame, nr_tti_rx;
@@
R nr_ulsch_decoding(..., T1 ULSCH_id, ..., T2 frame, T3 nr_tti_rx, ...)
{
+ WS_OAI_DECODING_BEGIN(frame, nr_tti_rx, ULSCH_id);
  ...
}
