// SPDX-License-Identifier: BSD-3-Clause
/// @file turns.c
/// From thread to thread on one CPU, and what else takes a busy CPU.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "micro.h"

#define TURNS 5000u
#define TRIES 15u
#define GAP_NS_MIN 1000u ///< a loop on the clock sees nothing shorter by itself
#define GAPS_MAX (1u << 20)

static uint32_t turn_word;
static uint32_t turn_cpu;

static void play(uint32_t self)
{
  for (uint32_t turn = self; turn < TURNS; turn += 2) {
    uint32_t now;
    while ((now = __atomic_load_n(&turn_word, __ATOMIC_ACQUIRE)) != turn)
      micro_wait(&turn_word, now);
    __atomic_store_n(&turn_word, turn + 1, __ATOMIC_RELEASE);
    micro_wake(&turn_word);
  }
}

static void *second(void *arg)
{
  micro_pin(turn_cpu);
  micro_batch();
  play(1);
  return arg;
}

/// One turn: a call that wakes, a call that waits, a switch. Batch threads do not interrupt each other.
int micro_switch(uint32_t cpu)
{
  double took_ns[TRIES];
  turn_cpu = cpu;
  micro_pin(cpu);
  micro_batch();
  for (uint32_t try = 0; try < TRIES; try++) {
    pthread_t thread;
    turn_word = 0;
    micro_start(&thread, second, NULL);
    const uint64_t from_ns = micro_now_ns();
    play(0);
    pthread_join(thread, NULL);
    took_ns[try] = (double)(micro_now_ns() - from_ns) / TURNS;
  }
  printf("{\"turn_ns\": %.1f}\n", micro_median(took_ns, TRIES));
  return 0;
}

/// A real-time thread that computes for longer in a second is stopped by the kernel.
#define WATCH_NS UINT64_C(500000000)

typedef struct {
  uint32_t cpu, count, turns;
  double *gap_ns;
  double sum_ns;
} watch_t;

static void watch_once(watch_t *self)
{
  uint64_t last_ns = micro_now_ns();
  const uint64_t until_ns = last_ns + WATCH_NS;
  while (last_ns < until_ns) {
    const uint64_t now_ns = micro_now_ns();
    if (now_ns - last_ns >= GAP_NS_MIN && self->count < GAPS_MAX) {
      self->gap_ns[self->count++] = (double)(now_ns - last_ns);
      self->sum_ns += (double)(now_ns - last_ns);
    }
    last_ns = now_ns;
  }
}

static void *watch(void *arg)
{
  watch_t *self = arg;
  micro_pin(self->cpu);
  micro_realtime(); // where that is allowed, other programs are no detours
  for (uint32_t turn = 0; turn < self->turns; turn++) {
    watch_once(self);
    micro_sleep_until(micro_now_ns() + WATCH_NS);
  }
  return NULL;
}

/// All CPUs that this process may use are busy at once, as in a burst. One line a CPU.
int micro_detours(uint32_t turns)
{
  static watch_t watches[CPU_SETSIZE];
  pthread_t threads[CPU_SETSIZE];
  cpu_set_t set;
  uint32_t count = 0;
  sched_getaffinity(0, sizeof(set), &set);
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &set))
      continue;
    watches[count] = (watch_t){.cpu = cpu, .turns = turns, .gap_ns = calloc(GAPS_MAX, sizeof(double))};
    if (!watches[count].gap_ns)
      abort();
    micro_start(&threads[count], watch, &watches[count]);
    count++;
  }
  for (uint32_t i = 0; i < count; i++) {
    pthread_join(threads[i], NULL);
    const double watched_s = (double)(turns * WATCH_NS) / 1e9;
    printf("{\"cpu\": %u, \"per_s\": %.1f, \"share\": %.6f, ", watches[i].cpu, watches[i].count / watched_s,
           watches[i].sum_ns / 1e9 / watched_s);
    micro_print_spread("gap_ns", watches[i].gap_ns, watches[i].count);
    printf("}\n");
  }
  return 0;
}
