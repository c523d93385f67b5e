// SPDX-License-Identifier: BSD-3-Clause
/// @file node.c
/// Scenes: tasks with a hint for a NUMA node, on a machine of two. Worker 0 is on node 0, worker 1 on node 1.
#include "scene.h"

// clang-format off
#define NODES "simulated cpus=4 nodes=2; "
/// Each worker stands in a gate, of its index: w0, w1.
#define STANDING                                                                          \
  "stands: unless index 1: gate w0\n"                                                     \
  "stands: unless index 0: gate w1\n"                                                     \
  "push stands 2; until entered w0 1; until entered w1 1; forget\n"
#define PAIR "pool workers=2 pin_step=2 spin=off\n" STANDING
/// a1, a2 are for node 0, b1, b2 for node 1.
#define SIX(g)                                                                                               \
  "push a1 node=0" g "; push n1" g "; push b1 node=1" g "; push a2 node=0" g "; push n2" g                   \
  "; push b2 node=1" g
SCENES("node",
  {"a_worker_takes_its_node_first",
   NODES PAIR SIX(" in=g") "; is queued_tasks 6; let w0; wait g alone; is order a1 a2 n1 n2 b1 b2"},
  {"a_worker_of_the_other_node_takes_that_first",
   NODES PAIR SIX(" in=g") "; let w1; wait g alone; is order b1 b2 n1 n2 a1 a2"},
  {"own_tasks_go_before_those_for_the_node",
   NODES PAIR "own: " SIX(" in=g") "\npush own in=g; let w1; wait g alone; is order own n2 n1 b1 b2 a1 a2"},
  {"own_tasks_go_before_those_for_the_node_in_a_fifo_pool",
   NODES "pool workers=2 pin_step=2 spin=off fifo=1\n" STANDING
   "own: " SIX(" in=g") "\npush own in=g; let w1; wait g alone; is order own n1 n2 b1 b2 a1 a2"},
  {"a_sleeper_on_the_node_is_woken",
   NODES "pool workers=2 pin_step=2 spin=off\n"
   "on0: is index 0\n"
   "on1: is index 1\n"
   "times 5: sleep 20ms; push on1 node=1 in=g; wait g alone; sleep 20ms; push on0 node=0 in=g; wait g alone"},
  {"a_priority_goes_before_a_node",
   NODES PAIR "push b1 node=1 in=g; push h high node=0 in=g; let w1; wait g alone; is order h b1"},
  {"a_wrong_hint_makes_no_difference",
   NODES PAIR "push a node=77 in=g; push b node=1000000 in=g; push c node=2147483646 in=g; let w1; "
   "wait g alone; is order a b c"},
  {"a_wait_reaches_its_tasks_on_each_node",
   NODES PAIR SIX(" in=g") "; " SIX("") "; wait g; is queued_tasks 6; let w0; let w1; settle; "
   "is ran a1 2; is ran b2 2"},
  {"a_batch_keeps_its_hints",
   NODES PAIR "push a1 2 node=0 batch in=g; push b1 2 node=1 batch in=g; let w1; wait g alone; "
   "is order b1 b1 a1 a1"},
  {"a_drain_runs_tasks_for_each_node",
   NODES PAIR SIX(" in=g") "; let w0; let w1; stop drain; is done g; is queued_tasks 0; is skipped_tasks 0"},
  {"an_abort_skips_tasks_for_each_node",
   NODES PAIR SIX(" in=g") "; thread aborter; until stopping; let w0; let w1; join; is done g\n"
   "aborter: stop abort = 6"},
  {"a_task_for_another_node_has_its_turn",
   NODES PAIR "runs: push link; push link node=1\n"
   "link: unless ran told 2: push link\n"
   "push told node=0; push runs; push told; let w1; until ran told 2; is ran link <= 1500"},
)
// clang-format on
