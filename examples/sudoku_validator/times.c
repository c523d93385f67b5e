// SPDX-License-Identifier: BSD-3-Clause
/// @file times.c
/// Times of a validation: one thread and several, quiet and noisy. The four take turns, so that a disturbance
/// of the machine meets all of them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sudoku.h"
#include "ws_sched.h"

#define ROUNDS 15
enum { QUIET, NOISY, KINDS };
enum { ONE, SEVERAL, CROWDS };

static double now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
  const double l = *(const double *)left, r = *(const double *)right;
  return (l > r) - (l < r);
}

/// @return nanoseconds for one validation, of @p repeat; negative: an error number
static double validation_ns(const sudoku_t *board, ws_sched_t *sched, uint64_t repeat, FILE *noise)
{
  sudoku_check_t check;
  sudoku_prepare(&check, board, repeat, noise);
  const double begin_ns = now_ns();
  const int error = sudoku_run(&check, sched);
  return error ? error : (now_ns() - begin_ns) / (double)repeat;
}

static void print(double ns[KINDS][CROWDS][ROUNDS], uint32_t threads)
{
  static const char *const name[KINDS] = {"quiet", "noisy"};
  printf("ns a validation, median of %d rounds\n         1 thread  %3u threads  ratio\n", ROUNDS, threads);
  for (int kind = 0; kind < KINDS; kind++) {
    for (int crowd = 0; crowd < CROWDS; crowd++)
      qsort(ns[kind][crowd], ROUNDS, sizeof(double), compare);
    const double one = ns[kind][ONE][ROUNDS / 2], several = ns[kind][SEVERAL][ROUNDS / 2];
    printf("%s  %10.0f  %11.0f  %5.2f\n", name[kind], one, several, several / one);
  }
}

int sudoku_times(const sudoku_t *board, uint32_t threads, uint64_t repeat)
{
  static double ns[KINDS][CROWDS][ROUNDS];
  FILE *noise = fopen("/dev/null", "w");
  ws_sched_t *sched = sched_init(threads - 1, SUDOKU_PARTS);
  if (!noise || !sched)
    return -errno;
  setvbuf(noise, NULL, _IOLBF, 0); // as a terminal: each line is written at once
  double error = 0;
  for (int round = 0; round < ROUNDS && error == 0; round++)
    for (int kind = 0; kind < KINDS; kind++)
      for (int crowd = 0; crowd < CROWDS; crowd++) {
        ws_sched_t *who = crowd == SEVERAL ? sched : NULL;
        const double one_ns = validation_ns(board, who, repeat, kind == NOISY ? noise : NULL);
        ns[kind][crowd][round] = one_ns;
        error = one_ns < 0 ? one_ns : error;
      }
  sched_fini(sched);
  fclose(noise);
  if (error == 0)
    print(ns, threads);
  return (int)error;
}
