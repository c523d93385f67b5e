// SPDX-License-Identifier: BSD-3-Clause
/// nr_ulsim is about to receive a slot, as a base station does (prewake/slot.cocci).
///
// Confidence: High
// Comments: v2.1.0 and later
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_PREWAKE_SLOT(...);

@depends on !already@
expression R, G;
@@
+ WS_OAI_PREWAKE_SLOT(G);
  R = phy_procedures_gNB_uespec_RX(G, ...);
