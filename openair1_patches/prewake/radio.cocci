// SPDX-License-Identifier: BSD-3-Clause
/// The radio unit has the samples of an uplink slot: its own pool is about to get the front end's tasks, the
/// base station's the rest some 100 us later.
///
// Confidence: High
// Options: --no-includes --macro-file macros.h

@already@
@@
  WS_OAI_PREWAKE_RU(...);

@depends on !already@
type R, T;
identifier P;
expression U;
@@
R ru_thread(T P)
{
<...
+ WS_OAI_PREWAKE_RU(U);
  U->feprx(U, ...);
...>
}
