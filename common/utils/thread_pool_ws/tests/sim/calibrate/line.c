// SPDX-License-Identifier: BSD-3-Clause
/// @file line.c
/// A cache line between two CPUs: threads in turn, by compare-and-swap (one transfer each time), and by store
/// and load (the writer takes the line from the reader, then the reader gets a copy).
#include <stdio.h>

#include "micro.h"

#define TURNS 2000u ///< short, so that most tries are over before anything else takes one of the CPUs
#define TRIES 101u

static struct {
  _Alignas(64) uint32_t turn; ///< even: the first thread's
  _Alignas(64) uint32_t there; ///< threads that have come to this try
  bool by_swap;
  uint32_t cpu[2];
  double took_ns[TRIES];
} line;

static void take_turns_by_swap(uint32_t self)
{
  for (uint32_t turn = self; turn < TURNS; turn += 2) {
    uint32_t expected = turn;
    while (!__atomic_compare_exchange_n(&line.turn, &expected, turn + 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
      expected = turn;
  }
}

static void take_turns_by_store(uint32_t self)
{
  for (uint32_t turn = self; turn < TURNS; turn += 2) {
    while (__atomic_load_n(&line.turn, __ATOMIC_ACQUIRE) != turn)
      ;
    __atomic_store_n(&line.turn, turn + 1, __ATOMIC_RELEASE);
  }
}

static void meet(uint32_t count)
{
  __atomic_fetch_add(&line.there, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&line.there, __ATOMIC_ACQUIRE) < count)
    ;
}

static void *player(void *arg)
{
  const uint32_t self = (uint32_t)(uintptr_t)arg;
  micro_pin(line.cpu[self]);
  for (uint32_t try = 0; try < TRIES; try++) {
    if (self == 0)
      __atomic_store_n(&line.turn, 0, __ATOMIC_SEQ_CST);
    meet(4 * try + 2);
    const uint64_t from_ns = micro_now_ns();
    if (line.by_swap)
      take_turns_by_swap(self);
    else
      take_turns_by_store(self);
    line.took_ns[try] = (double)(micro_now_ns() - from_ns) / TURNS;
    meet(4 * try + 4);
  }
  return NULL;
}

static double measure(bool by_swap)
{
  pthread_t threads[2];
  line.by_swap = by_swap;
  line.there = 0;
  for (uintptr_t i = 0; i < 2; i++)
    micro_start(&threads[i], player, (void *)i);
  for (uint32_t i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return micro_median(line.took_ns, TRIES);
}

int micro_line(uint32_t cpu, uint32_t other)
{
  line.cpu[0] = cpu;
  line.cpu[1] = other;
  const double swap_ns = measure(true), store_ns = measure(false);
  printf("{\"swap_ns\": %.2f, \"store_ns\": %.2f}\n", swap_ns, store_ns);
  return 0;
}
