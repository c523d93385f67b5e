// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tsan.c
/// ws_tsan.h.
#include "ws_tsan.h"

/// Addresses only: nothing is read or written here.
#define PLACES 8192u
static uint64_t place[PLACES];

const void *ws_tsan_place(uintptr_t first, uintptr_t second, uintptr_t third)
{
  uint64_t mixed = first;
  mixed = (mixed ^ mixed >> 29) * UINT64_C(0x9e3779b97f4a7c15) + second;
  mixed = (mixed ^ mixed >> 29) * UINT64_C(0x9e3779b97f4a7c15) + third;
  mixed = (mixed ^ mixed >> 29) * UINT64_C(0x9e3779b97f4a7c15);
  return &place[(mixed >> 32) % PLACES];
}
