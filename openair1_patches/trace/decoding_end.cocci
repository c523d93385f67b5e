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
  WS_OAI_DECODING_END();

@in_condition depends on !already@
type R;
parameter list PS;
expression X;
@@
R phy_procedures_gNB_uespec_RX(PS)
{
<+...
  if (...) {
    while (...) {
      <+...
      pullTpool(&X->respDecode, ...)
      ...+>
    }
  }
+ WS_OAI_DECODING_END();
...+>
}

@depends on !already && !in_condition@
type R;
parameter list PS;
expression X;
@@
R phy_procedures_gNB_uespec_RX(PS)
{
<...
  while (...) {
    <+...
    pullTpool(&X->respDecode, ...)
    ...+>
  }
+ WS_OAI_DECODING_END();
...>
}
