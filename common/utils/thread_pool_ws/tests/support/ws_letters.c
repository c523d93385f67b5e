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
  ran[ws_load_acquire(&ended) % sizeof(ran)] = '\0';
  return ran;
}

void test_letters_forget(void)
{
  ws_store_relaxed(&begun, 0);
  ws_store_relaxed(&ended, 0);
  memset(ran, 0, sizeof(ran));
}

static bool have_run(void *count)
{
  return ws_load_acquire(&ended) >= *(const uint32_t *)count;
}

void test_letters_release(test_gate_t *gate, uint32_t count)
{
  test_gate_let(gate, 1);
  CU_ASSERT_TRUE(test_until(have_run, &count));
}
