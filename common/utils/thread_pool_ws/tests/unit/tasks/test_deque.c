// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deque.c
/// A deque: what each operation returns, as a table. Its owner against thieves: models, explore.
#include "../../../tasks/ws_deque.h"

#include "../../support/ws_test.h"

static ws_cell_t cells[64];
static ws_deque_t deque;
static ws_steal_memo_t memo[2]; ///< of two thieves
static uint64_t pushed; ///< tasks are numbered from 1

static void begin(uint64_t capacity)
{
  memset(cells, 0, sizeof(cells));
  memset(memo, 0, sizeof(memo));
  pushed = 0;
  ws_deque_init(&deque, cells, capacity);
}

/// Push the next @p count tasks.
static void put(uint64_t count)
{
  ws_task_t tasks[16];
  for (uint64_t i = 0; i < count; i++)
    tasks[i] = (ws_task_t){.func = test_empty_task, .arg = (void *)(uintptr_t)++pushed};
  while (!ws_deque_has_room(&deque, count))
    ws_deque_grow(&deque);
  ws_deque_push(&deque, tasks, count);
}

static uint64_t number_of(const ws_task_t *task)
{
  return (uint64_t)(uintptr_t)task->arg;
}

/// 0 = nothing
static uint64_t take(void)
{
  ws_task_t task;
  return ws_deque_take(&deque, &task) ? number_of(&task) : 0;
}

static uint64_t steal(ws_steal_memo_t *memo_of)
{
  ws_task_t task;
  return ws_deque_steal(&deque, memo_of, &task) == WS_STEAL_GOT ? number_of(&task) : 0;
}

static uint64_t room(void)
{
  uint64_t count = 0;
  while (ws_deque_has_room(&deque, count + 1))
    count++;
  return count;
}

static uint64_t do_letter(char letter)
{
  static uint64_t peeked;
  ws_task_t task;
  switch (letter) {
    case 't':
      return take();
    case 's': // by the first thief
    case 'S': // by the second one
      return steal(&memo[letter == 'S']);
    case 'm': // tasks that the first thief need not look for
      return memo[0].bottom - ws_load_relaxed(&deque.top);
    case 'k': // the first half of a steal
      return ws_deque_steal_peek(&deque, &memo[0], &task, &peeked) ? number_of(&task) : 0;
    case 'c': // its second half
      return ws_deque_steal_commit(&deque, peeked);
    case 'q': // what the next take returns
      return ws_deque_peek(&deque, &task) ? number_of(&task) : 0;
    case 'z':
      return ws_deque_size(&deque);
    case 'r':
      return room();
    case 'g':
      return ws_deque_grow(&deque);
    case 'x':
      ws_deque_shrink(&deque);
      return deque.level;
    case 'b':
      return ws_load_relaxed(&deque.grown_bytes) / sizeof(ws_cell_t);
    case 'o':
      return ws_load_relaxed(&deque.loose);
    case 'i':
      ws_deque_trim(&deque);
      return ws_load_relaxed(&deque.loose);
    default: // another thread begins or ends a trim
      ws_store_relaxed(&deque.loose, letter == '(' ? WS_LOOSE_TRIMMING : WS_LOOSE_NONE);
      return ws_load_relaxed(&deque.loose);
  }
}

/// "p" pushes one task, "3p" three at once; each other letter returns a number.
TEST_CASE(each_operation_returns_what_it_should)
{
  static const struct {
    const char *what;
    uint64_t capacity;
    const char *letters, *returned;
  } rows[] = {
      {"the owner takes the newest, thieves the oldest", 8, "6p z tsstst ts z", "6 6 1 2 5 3 4 0 0 0"},
      {"a peek sees the newest, and takes nothing", 4, "q 3p qz t q", "0 3 3 3 2"},
      {"batches go round the ring", 4, "3pr sts 3pr sts 3pr sts r", "1 1 3 2 1 4 6 5 1 7 9 8 4"},
      {"growth keeps the order", 2, "2p s 16p b 4p b 3p sst zb", "1 60 60 2 3 25 21 60"},
      {"only an empty ring shrinks", 2, "3p xb i tttx bo i bo", "1 4 0 3 2 1 0 4 1 0 0 0"},
      {"growth takes loose pages back", 2, "3p tttx o 2p g o b g b i tt", "3 2 1 0 1 1 0 4 1 12 0 5 4"},
      {"growth does not wait for a trim without end", 2, "3p tttx ( g x o ) g x", "3 2 1 0 2 0 0 2 0 1 0"},
      {"a memo saves looks", 8, "4p s m s m", "1 3 2 2"},
      {"a take makes a memo void", 8, "4p s ttt s p s 2p SsSs", "1 4 3 2 0 5 6 7 0 0"},
      {"another thief was faster", 4, "p k S c", "1 1 0"},
      {"the owner took the last task meanwhile", 4, "p k t c z", "1 1 0 0"},
      {"the owner took all meanwhile", 4, "3p k ttt c s", "1 3 2 1 0 0"},
      {"a task lies in the place of the one that was read", 2, "2p k SS 2p c ss", "1 1 2 0 3 4"},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    char returned[256] = "";
    size_t length = 0;
    uint64_t count = 0;
    begin(rows[i].capacity);
    for (const char *letter = rows[i].letters; *letter; letter++) {
      if (*letter >= '0' && *letter <= '9') {
        count = 10 * count + (uint64_t)(*letter - '0');
      } else if (*letter == 'p') {
        put(count ? count : 1);
        count = 0;
      } else if (*letter != ' ') {
        length += (size_t)snprintf(returned + length, sizeof(returned) - length, " %llu",
                                   (unsigned long long)do_letter(*letter));
      }
    }
    if (strcmp(returned + 1, rows[i].returned) != 0)
      printf("\n    %s: %s\n", rows[i].what, returned);
    CU_ASSERT_STRING_EQUAL(returned + 1, rows[i].returned);
    ws_deque_free(&deque);
  }
}

/// A thief's memo of another deque, whose count of takes is the same.
TEST_CASE(a_memo_of_another_deque_is_not_used)
{
  begin(8);
  put(2);
  memo[0] = (ws_steal_memo_t){.deque = NULL, .bottom = UINT64_MAX / 2, .takes = 0};
  CU_ASSERT_TRUE(steal(&memo[0]) == 1 && steal(&memo[0]) == 2 && steal(&memo[0]) == 0);
}

/// Another thread is quicker.
static bool wants_too_late(const ws_task_t *task, uint64_t index, void *stolen)
{
  *(uint64_t *)stolen += 1;
  return steal(&memo[1]) == number_of(task) && index == *(uint64_t *)stolen;
}

TEST_CASE(a_thief_that_is_always_too_late_gives_up)
{
  ws_task_t task;
  uint64_t stolen = 0;
  begin(64);
  put(16);
  put(16);
  CU_ASSERT_EQUAL(ws_deque_steal_wanted(&deque, &memo[0], wants_too_late, &stolen, &task), WS_STEAL_RETRY);
  CU_ASSERT_EQUAL(stolen, WS_STEAL_TRIES);
  CU_ASSERT_EQUAL(ws_deque_size(&deque), 32 - WS_STEAL_TRIES);
}

TEST_MAIN("deque")
