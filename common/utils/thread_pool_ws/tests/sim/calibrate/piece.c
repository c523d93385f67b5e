// SPDX-License-Identifier: BSD-3-Clause
/// @file piece.c
/// A piece of code such as a thread runs when it wakes: 64 small functions on cache lines of their own, each
/// with a line of data and a branch, and a system call.
#include "micro.h"

#define PIECES 64u

static struct {
  _Alignas(64) volatile uint64_t value;
} data[PIECES];

#define PIECE(number)                                                                                        \
  __attribute__((noinline, aligned(64))) static void piece_##number(void)                                    \
  {                                                                                                          \
    const uint64_t value = data[number].value;                                                               \
    data[number].value = (value & 1) ? 3 * value + 1 : value + 3 * (number) + 1;                             \
  }
#define EIGHT(macro, n)                                                                                      \
  macro(n##0) macro(n##1) macro(n##2) macro(n##3) macro(n##4) macro(n##5) macro(n##6) macro(n##7)
#define ALL(macro)                                                                                           \
  EIGHT(macro, 00)                                                                                           \
  EIGHT(macro, 01)                                                                                           \
  EIGHT(macro, 02) EIGHT(macro, 03) EIGHT(macro, 04) EIGHT(macro, 05) EIGHT(macro, 06) EIGHT(macro, 07)
ALL(PIECE)

#define POINTER(number) piece_##number,

void micro_piece(void)
{
  static void (*const pieces[PIECES])(void) = {ALL(POINTER)};
  static uint32_t nobody;
  for (uint32_t i = 0; i < PIECES; i++)
    pieces[i * 29 % PIECES](); // not in order, as a prefetcher would have it
  micro_wake(&nobody);
}
