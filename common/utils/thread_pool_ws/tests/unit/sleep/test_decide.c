// SPDX-License-Identifier: BSD-3-Clause
/// @file test_decide.c
/// ws_decide(): a table of what is known, and what follows.

#include "../../../include/ws_pool.h"
#include "../../../sleep/ws_decide.h"
#include "../../support/ws_test.h"

#define ALL UINT32_MAX

TEST_CASE(each_trigger_wakes_what_the_table_says)
{
  static const struct {
    ws_snapshot_t snapshot;
    uint32_t wakes;
    ws_decided_t why;
  } rows[] = {
      // one worker for a task, unless as many work as may
      {{WS_TRIGGER_TASK, .working = 0, .limit = 8, .queued = 1}, 1, WS_DECIDED_TASK},
      {{WS_TRIGGER_TASK, .working = 7, .limit = 8, .queued = 9}, 1, WS_DECIDED_TASK},
      {{WS_TRIGGER_TASK, .working = 8, .limit = 8, .queued = 1}, 0, WS_DECIDED_CAP},
      {{WS_TRIGGER_TASK, .working = 9, .limit = 8, .queued = 1}, 0, WS_DECIDED_CAP}, // the cap has fallen
      // more while the first ones are on their way, if the others will not have taken the burst by then
      {{WS_TRIGGER_TASK, true, .working = 1, .limit = 8, .searching = 1, .calls_a_wake = 4, .taken = 1,
        .queued = 2},
       1,
       WS_DECIDED_SPREAD},
      {{WS_TRIGGER_TASK, true, .working = 1, .limit = 8, .searching = 1, .calls_a_wake = 4, .taken = 5,
        .queued = 5},
       0,
       WS_DECIDED_ENOUGH},
      {{WS_TRIGGER_TASK, true, .working = 3, .limit = 8, .searching = 3, .calls_a_wake = 4, .taken = 5,
        .queued = 6},
       1,
       WS_DECIDED_SPREAD},
      // as many as the caller can call until the first one runs: those it has called call, too
      {{WS_TRIGGER_TASK, true, .working = 4, .limit = 8, .searching = 4, .calls_a_wake = 4, .taken = 4,
        .queued = 9},
       0,
       WS_DECIDED_ENOUGH},
      // and only where a CPU is left, of all pools' workers
      {{WS_TRIGGER_TASK, false, .working = 1, .limit = 8, .searching = 1, .calls_a_wake = 4, .queued = 9},
       0,
       WS_DECIDED_CAP},
      {{WS_TRIGGER_TASK, true, .working = 8, .limit = 8, .searching = 1, .calls_a_wake = 4, .queued = 9},
       0,
       WS_DECIDED_CAP},
      // a searcher that has found a task: one, if it would find a task
      {{WS_TRIGGER_FOUND, .working = 3, .limit = 8, .searching = 2, .taken = 2, .queued = 3},
       1,
       WS_DECIDED_SPREAD},
      {{WS_TRIGGER_FOUND, .working = 3, .limit = 8, .searching = 2, .taken = 3, .queued = 3},
       0,
       WS_DECIDED_ENOUGH},
      {{WS_TRIGGER_FOUND, .working = 8, .limit = 8, .queued = 9}, 0, WS_DECIDED_CAP},
      {{WS_TRIGGER_FOUND, .working = 1, .limit = 8, .queued = 0}, 0, WS_DECIDED_ENOUGH},
      // the last searcher: one for what is left, whatever is foreseen
      {{WS_TRIGGER_FOUND, .working = 1, .limit = 8, .taken = 90, .queued = 1}, 1, WS_DECIDED_SPREAD},
      // in all one, or two by a worker that was called
      {{WS_TRIGGER_FOUND, .working = 1, .limit = 8, .woken = 1, .queued = 9}, 0, WS_DECIDED_ENOUGH},
      {{WS_TRIGGER_FOUND, .called = true, .working = 1, .limit = 8, .woken = 1, .queued = 9},
       1,
       WS_DECIDED_SPREAD},
      {{WS_TRIGGER_FOUND, .called = true, .working = 1, .limit = 8, .woken = 2, .queued = 9},
       0,
       WS_DECIDED_ENOUGH},
      // a hint: until as many search as it wants
      {{WS_TRIGGER_HINT, .limit = 8, .queued = 6, .calls_a_wake = 3}, 6, WS_DECIDED_HINT},
      {{WS_TRIGGER_HINT, .limit = 8, .queued = 6, .searching = 5}, 1, WS_DECIDED_HINT},
      {{WS_TRIGGER_HINT, .limit = 8, .queued = 6, .searching = 6}, 0, WS_DECIDED_ENOUGH},
      {{WS_TRIGGER_HINT, .working = 7, .limit = 8, .queued = 6}, 1, WS_DECIDED_HINT},
      {{WS_TRIGGER_HINT, .limit = 8, .queued = 0}, 0, WS_DECIDED_ENOUGH},
      {{WS_TRIGGER_HINT, .limit = 8, .queued = WS_AS_MANY_AS_PAY, .calls_a_wake = 3}, 3, WS_DECIDED_HINT},
      {{WS_TRIGGER_HINT, .limit = 8, .queued = WS_AS_MANY_AS_PAY, .calls_a_wake = 3, .searching = 3},
       0,
       WS_DECIDED_ENOUGH},
      // the guard: one for each task that waits, whether workers search or not
      {{WS_TRIGGER_STUCK, .working = 2, .limit = 8, .searching = 2, .queued = 3}, 3, WS_DECIDED_STUCK},
      {{WS_TRIGGER_STUCK, .working = 2, .limit = 8, .queued = UINT64_C(1) << 40}, 6, WS_DECIDED_STUCK},
      {{WS_TRIGGER_STUCK, .working = 8, .limit = 8, .queued = 3}, 0, WS_DECIDED_CAP},
      // a timer: where there is room under the cap, and a CPU
      {{WS_TRIGGER_TIMER, .working = 7, .limit = 8, .may_spin = true}, 1, WS_DECIDED_TIMER},
      {{WS_TRIGGER_TIMER, .working = 7, .limit = 8}, 0, WS_DECIDED_CAP},
      {{WS_TRIGGER_TIMER, .working = 8, .limit = 8, .may_spin = true}, 0, WS_DECIDED_CAP},
      // a stop: all, whatever the cap
      {{WS_TRIGGER_ALL, .working = 8, .limit = 8}, ALL, WS_DECIDED_ALL},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const ws_decision_t decision = ws_decide(&rows[i].snapshot);
    const bool good = decision.wakes == rows[i].wakes && decision.why == rows[i].why;
    if (!good)
      printf("\nrow %u: %u workers, reason %u\n", i, decision.wakes, decision.why);
    CU_ASSERT_TRUE(good);
  }
}

TEST_MAIN("decide")
