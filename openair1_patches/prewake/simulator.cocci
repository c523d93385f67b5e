// SPDX-License-Identifier: BSD-3-Clause
/// nr_ulsim: before its front end, which needs about as long as a worker to wake, and outside of all that
/// nr_ulsim measures.
///
// Confidence: High
// Comments: v2.1.0 and later
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_PREWAKE_SLOT(...);

@depends on !already@
type T1, T2;
identifier I1, I2;
expression G, A1, B1, C1, A2, B2, C2;
@@
+ WS_OAI_PREWAKE_SLOT(G);
  for (T1 I1 = A1; B1; C1) {
    for (T2 I2 = A2; B2; C2)
      nr_slot_fep_ul(&G->frame_parms, ...);
  }
