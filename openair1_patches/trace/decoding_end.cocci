// SPDX-License-Identifier: BSD-3-Clause
/// ULSCH decoding ends when the results of all segments of the slot have been pulled. Where that loop stands in
/// a condition, the end stands behind it: a decoder that pushes nothing ends its phase, too.
///
//# It is passed in slots without a decoding as well, which the hook ignores.
///
// Confidence: High
// Comments: v2.0.0 to v2.2.0; trace/decoding_begin.cocci is the other half
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_DECODING_END(...);

@in_condition depends on !already@
type R, T1, T2;
symbol frame_rx, slot_rx;
expression X;
@@
R phy_procedures_gNB_uespec_RX(..., T1 frame_rx, T2 slot_rx, ...)
{
<+...
  if (...) {
    while (...) {
      <+...
      pullTpool(&X->respDecode, ...)
      ...+>
    }
  }
+ WS_OAI_DECODING_END(frame_rx, slot_rx);
...+>
}

@depends on !already && !in_condition@
type R, T1, T2;
symbol frame_rx, slot_rx;
expression X;
@@
R phy_procedures_gNB_uespec_RX(..., T1 frame_rx, T2 slot_rx, ...)
{
<...
  while (...) {
    <+...
    pullTpool(&X->respDecode, ...)
    ...+>
  }
+ WS_OAI_DECODING_END(frame_rx, slot_rx);
...>
}
