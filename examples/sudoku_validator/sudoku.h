// SPDX-License-Identifier: BSD-3-Clause
/// @file sudoku.h
/// A Sudoku board that eleven tasks check: all rows, all columns, and each of the nine boxes.
#ifndef SUDOKU_H
#define SUDOKU_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ws_sched.h"

#define SUDOKU_PARTS 11

/// cell[row][column], 1 .. 9
typedef struct {
  uint8_t cell[9][9];
} sudoku_t;

/// What a task checks, and its result.
typedef struct {
  const sudoku_t *board;
  uint32_t box; ///< of check_box: 0 .. 8, row by row
  uint64_t repeat; ///< times that the task checks it
  FILE *noise; ///< check_box prints a line here for each cell; NULL = it prints nothing
  bool valid; ///< result
} part_t;

/// The same board for all parts. Parts 0 and 1 are rows and columns.
typedef struct {
  part_t part[SUDOKU_PARTS];
  ws_sched_task_t task[SUDOKU_PARTS];
} sudoku_check_t;

void sudoku_prepare(sudoku_check_t *check, const sudoku_t *board, uint64_t repeat, FILE *noise);

/// @brief Check all parts. @param sched  NULL: the calling thread does it alone
/// @return 0, or a negative error number of sched_post()
int sudoku_run(sudoku_check_t *check, ws_sched_t *sched);

/// @return whether all parts are valid
bool sudoku_is_valid(const sudoku_check_t *check);

/// @brief Print which parts are not.
void sudoku_print(const sudoku_check_t *check);

/// @brief Print the times of a validation.
/// @param threads  more than 1
/// @return 0, or a negative error number
int sudoku_times(const sudoku_t *board, uint32_t threads, uint64_t repeat);

#endif
