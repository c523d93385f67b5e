// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_letters.c
/// ws_letters.h.
#include "ws_letters.h"

#include <string.h>

static char ran[4096];
static ws_au32_t begun, ended;

void test_letter_task(void *letter)
{
  const uint32_t index = ws_add_relaxed(&begun, 1);
  if (index < sizeof(ran) - 1)
    ran[index] = *(const char *)letter;
  ws_add_acq_rel(&ended, 1);
}

const char *test_letters_ran(void)
{
  ran[test_letters_count() % sizeof(ran)] = '\0';
  return ran;
}

uint32_t test_letters_count(void)
{
  return ws_load_acquire(&ended);
}

void test_letters_forget(void)
{
  ws_store_relaxed(&begun, 0);
  ws_store_relaxed(&ended, 0);
  memset(ran, 0, sizeof(ran));
}

static bool have_run(void *count)
{
  return test_letters_count() >= *(const uint32_t *)count;
}

bool test_letters_await(uint32_t count)
{
  return test_until(have_run, &count);
}

static ws_priority_t priority_of(char letter)
{
  if (letter >= 'A' && letter <= 'Z')
    return WS_PRIORITY_HIGH;
  return letter >= 'a' && letter <= 'z' ? WS_PRIORITY_LOW : WS_PRIORITY_NORMAL;
}

void test_letters_push(ws_pool_t *pool, const char *letters, ws_group_t *group)
{
  for (const char *letter = letters; *letter; letter++) {
    const ws_task_t task = {.func = test_letter_task,
                            .arg = (void *)(uintptr_t)letter,
                            .group = group,
                            .priority = priority_of(*letter)};
    if (ws_pool_push(pool, task) != 0)
      ws_add_relaxed(&test_refused, 1);
  }
}

void test_letters_hold(ws_pool_t *pool, test_gate_t *gate)
{
  test_push(pool, test_gate_task, gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(gate, 1));
}

void test_letters_release(test_gate_t *gate, uint32_t count)
{
  test_gate_let(gate, 1);
  CU_ASSERT_TRUE(test_letters_await(count));
}
