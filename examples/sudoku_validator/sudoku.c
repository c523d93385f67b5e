// SPDX-License-Identifier: BSD-3-Clause
/// @file sudoku.c
/// The tasks.
#include "sudoku.h"

#include <stdatomic.h>

#define ALL_DIGITS 0x3feu // bits 1 .. 9

static void check_rows(void *part_arg)
{
  part_t *part = part_arg;
  for (uint64_t i = 0; i < part->repeat; i++) {
    bool valid = true;
    for (int row = 0; row < 9; row++) {
      uint32_t digits = 0;
      for (int column = 0; column < 9; column++)
        digits |= 1u << part->board->cell[row][column];
      valid &= digits == ALL_DIGITS;
    }
    part->valid = valid;
    atomic_signal_fence(memory_order_seq_cst); // the compiler must do it again
  }
}

static void check_columns(void *part_arg)
{
  part_t *part = part_arg;
  for (uint64_t i = 0; i < part->repeat; i++) {
    bool valid = true;
    for (int column = 0; column < 9; column++) {
      uint32_t digits = 0;
      for (int row = 0; row < 9; row++)
        digits |= 1u << part->board->cell[row][column];
      valid &= digits == ALL_DIGITS;
    }
    part->valid = valid;
    atomic_signal_fence(memory_order_seq_cst);
  }
}

static void check_box(void *part_arg)
{
  part_t *part = part_arg;
  const uint32_t row = part->box / 3 * 3, column = part->box % 3 * 3;
  for (uint64_t i = 0; i < part->repeat; i++) {
    uint32_t digits = 0;
    for (uint32_t cell = 0; cell < 9; cell++) {
      const uint8_t digit = part->board->cell[row + cell / 3][column + cell % 3];
      digits |= 1u << digit;
      if (part->noise)
        fprintf(part->noise, "box %u, cell %u: %u\n", part->box, cell, digit);
    }
    part->valid = digits == ALL_DIGITS;
    atomic_signal_fence(memory_order_seq_cst);
  }
}

static void (*function_of(uint32_t i))(void *)
{
  return i == 0 ? check_rows : i == 1 ? check_columns : check_box;
}

void sudoku_prepare(sudoku_check_t *check, const sudoku_t *board, uint64_t repeat, FILE *noise)
{
  for (uint32_t i = 0; i < SUDOKU_PARTS; i++) {
    check->part[i] = (part_t){.board = board, .box = i < 2 ? 0 : i - 2, .repeat = repeat, .noise = noise};
    sched_task_init(&check->task[i], function_of(i), &check->part[i], WS_PRIORITY_NORMAL);
  }
}

int sudoku_run(sudoku_check_t *check, ws_sched_t *sched)
{
  int error = 0;
  for (uint32_t i = 0; i < SUDOKU_PARTS && !error; i++) {
    if (sched)
      error = sched_post(sched, &check->task[i]);
    else
      function_of(i)(&check->part[i]);
  }
  const int waited = sched ? sched_execute(sched) : 0;
  return error ? error : waited;
}

bool sudoku_is_valid(const sudoku_check_t *check)
{
  bool valid = true;
  for (uint32_t i = 0; i < SUDOKU_PARTS; i++)
    valid &= check->part[i].valid;
  return valid;
}

void sudoku_print(const sudoku_check_t *check)
{
  for (uint32_t i = 0; i < SUDOKU_PARTS; i++) {
    if (check->part[i].valid)
      continue;
    if (i < 2)
      printf("invalid: %s\n", i == 0 ? "rows" : "columns");
    else
      printf("invalid: box %u\n", check->part[i].box + 1);
  }
  printf("the board is %s\n", sudoku_is_valid(check) ? "valid" : "not valid");
}
