// SPDX-License-Identifier: BSD-3-Clause
/// The radio unit has the samples of a slot: its pool may get the front end's tasks.
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
  U->fh_south_in(U, ...);
+ WS_OAI_PREWAKE_RU(U);
...>
}
