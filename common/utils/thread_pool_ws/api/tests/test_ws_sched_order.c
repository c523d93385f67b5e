// SPDX-License-Identifier: BSD-3-Clause
/// @file test_ws_sched_order.c
/// Priorities of the interface ws_sched, and that the environment sets its pool up. The clock is virtual, so
/// that no task is taken early because it has waited long. Linked with --wrap of ws_os_now_ns.
#define _GNU_SOURCE
#include <ctype.h>

#include "../../tests/support/ws_death.h"
#include "../../tests/support/ws_letters.h"
#include "ws_sched_test.h"

static ws_au64_t clock_ns;

uint64_t __wrap_ws_os_now_ns(void);

uint64_t __wrap_ws_os_now_ns(void)
{
  return UINT64_C(1000000000) + ws_add_relaxed(&clock_ns, 1);
}

static ws_priority_t priority_of(char letter)
{
  return isupper(letter) ? WS_PRIORITY_HIGH : islower(letter) ? WS_PRIORITY_LOW : WS_PRIORITY_NORMAL;
}

#define LETTERS 9u

/// Without timers: they would follow the clock above.
static void one_worker_takes_the_highest_first(void)
{
  static const char *const letter[LETTERS] = {"a", "1", "A", "b", "2", "B", "c", "3", "C"};
  ws_sched_task_t task[LETTERS];
  setenv("TPOOL_WS_SPIN", "off", 1);
  hold(1, LETTERS + 1);
  test_letters_forget();
  for (uint32_t i = 0; i < LETTERS; i++) {
    sched_task_init(&task[i], test_letter_task, (void *)(uintptr_t)letter[i], priority_of(letter[i][0]));
    CU_ASSERT_EQUAL(sched_post(held.sched, &task[i]), 0);
  }
  test_letters_release(&held.gate, LETTERS); // the thread outside does not help
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "ABC123abc");
  end_held();
  unsetenv("TPOOL_WS_SPIN");
}

static void begin_and_end(void)
{
  sched_fini(sched_init(1, 1));
}

static void the_environment_is_read(void)
{
  CU_ASSERT(reads_environment(begin_and_end));
}

TEST_MAIN("ws_sched_order", TEST_CASE(one_worker_takes_the_highest_first), TEST_CASE(the_environment_is_read))
