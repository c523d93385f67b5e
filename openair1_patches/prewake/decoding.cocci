// SPDX-License-Identifier: BSD-3-Clause
/// A transport block has been received without a task, and its segments' tasks come next.
///
// Confidence: High
// Comments: v2.0.0
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_PREWAKE_SLOT(...);

@depends on !already@
type R, T;
identifier V;
parameter list PS;
expression G;
@@
R phy_procedures_gNB_uespec_RX(PS)
{
<...
+ WS_OAI_PREWAKE_SLOT(G);
  T V = nr_ulsch_procedures(G, ...);
...>
}
