// SPDX-License-Identifier: BSD-3-Clause
/// The base station is about to receive an uplink slot: after the channel estimation come the symbols' tasks.
///
//# The call stands in a branch for uplink and mixed slots already.
///
// Confidence: High
// Comments: v2.1.0 and later; in v2.0.0 the first tasks come too late for this, see prewake/decoding.cocci
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_PREWAKE_SLOT(...);

@depends on !already@
type R;
parameter list PS;
expression G;
@@
R rx_func(PS)
{
<...
+ WS_OAI_PREWAKE_SLOT(G);
  phy_procedures_gNB_uespec_RX(G, ...);
...>
}
