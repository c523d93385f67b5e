// SPDX-License-Identifier: BSD-3-Clause
/// @file costs.c
/// The costs of a thread on its own CPU: atomic accesses to a line that it has, fence, pause, clock, system
/// call.
#include <stdio.h>

#include "micro.h"

#define REPEATS 100000u
#define TRIES 31u

typedef struct cell_s {
  struct cell_s *next;
  uint64_t word;
} cell_t;

/// Loads that wait for each other, as the pool's do: it reads an index, then what lies there.
static double load(void)
{
  static _Alignas(64) cell_t cell[2] = {{.next = &cell[1]}, {.next = &cell[0]}};
  cell_t *at = &cell[0];
  const uint64_t from_ns = micro_now_ns();
  for (uint32_t i = 0; i < REPEATS; i++)
    at = __atomic_load_n(&at->next, __ATOMIC_ACQUIRE);
  const uint64_t took_ns = micro_now_ns() - from_ns;
  return at ? (double)took_ns / REPEATS : 0;
}

static _Alignas(64) uint64_t word;

static double add(void)
{
  const uint64_t from_ns = micro_now_ns();
  for (uint32_t i = 0; i < REPEATS; i++)
    __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
  return (double)(micro_now_ns() - from_ns) / REPEATS;
}

static double fence(void)
{
  const uint64_t from_ns = micro_now_ns();
  for (uint32_t i = 0; i < REPEATS; i++) {
    __atomic_store_n(&word, i, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
  return (double)(micro_now_ns() - from_ns) / REPEATS;
}

static double relax(void)
{
  const uint64_t from_ns = micro_now_ns();
  for (uint32_t i = 0; i < REPEATS; i++) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
  }
  return (double)(micro_now_ns() - from_ns) / REPEATS;
}

static double read_clock(void)
{
  const uint64_t from_ns = micro_now_ns();
  for (uint32_t i = 0; i < REPEATS; i++)
    (void)micro_now_ns();
  return (double)(micro_now_ns() - from_ns) / REPEATS;
}

static double call_without_sleeper(void)
{
  static uint32_t nobody;
  const uint64_t from_ns = micro_now_ns();
  for (uint32_t i = 0; i < REPEATS / 20; i++)
    micro_wake(&nobody);
  return (double)(micro_now_ns() - from_ns) / (REPEATS / 20.);
}

static void *nothing(void *arg)
{
  return arg;
}

static double create(void)
{
  uint64_t sum_ns = 0;
  for (uint32_t i = 0; i < 20; i++) {
    pthread_t thread;
    const uint64_t from_ns = micro_now_ns();
    micro_start(&thread, nothing, NULL);
    sum_ns += micro_now_ns() - from_ns;
    pthread_join(thread, NULL);
  }
  return (double)sum_ns / 20;
}

int micro_costs(uint32_t cpu)
{
  static const struct {
    const char *name;
    double (*measure)(void);
  } costs[] = {{"load_ns", load},    {"add_ns", add},          {"fence_ns", fence},
               {"pause_ns", relax},  {"clock_ns", read_clock}, {"syscall_ns", call_without_sleeper},
               {"create_ns", create}};
  micro_pin(cpu);
  micro_spin_until(micro_now_ns() + 50000000);
  for (uint32_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
    double took_ns[TRIES];
    for (uint32_t try = 0; try < TRIES; try++)
      took_ns[try] = costs[i].measure();
    printf("%s\"%s\": %.2f", i > 0 ? ", " : "{", costs[i].name, micro_median(took_ns, TRIES));
  }
  printf("}\n");
  return 0;
}
