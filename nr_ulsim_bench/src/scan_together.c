// SPDX-License-Identifier: BSD-3-Clause
#include "scan_together.h"

#include <pthread.h>
#include <stdlib.h>

#include "clock.h"

typedef struct {
  pthread_barrier_t begin;
  const nodes_t *nodes;
  uint32_t (*cpu_of)(const nodes_t *, uint32_t index);
  void (*func)(void *arg, uint32_t index);
  void *arg;
} meeting_t;

typedef struct {
  meeting_t *meeting;
  uint32_t index;
  pthread_t thread;
  uint64_t end_ns;
} member_t;

static void *take_part(void *member_arg)
{
  member_t *const member = member_arg;
  meeting_t *const meeting = member->meeting;
  if (meeting->cpu_of)
    nodes_pin(meeting->cpu_of(meeting->nodes, member->index));
  else
    nodes_move(&meeting->nodes->all);
  pthread_barrier_wait(&meeting->begin);
  meeting->func(meeting->arg, member->index);
  member->end_ns = clock_now_ns();
  return NULL;
}

/// The caller reaches the barrier last and lets the others go. It computes nothing meanwhile.
static uint64_t time_meeting(meeting_t *meeting, member_t *member, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    member[i] = (member_t){.meeting = meeting, .index = i};
    if (pthread_create(&member[i].thread, NULL, take_part, &member[i]) != 0)
      abort(); // the others wait for it
  }
  clock_sleep_until(clock_now_ns() + 1000000); // for the threads to reach the barrier
  const uint64_t begin_ns = clock_now_ns();
  pthread_barrier_wait(&meeting->begin);
  uint64_t end_ns = begin_ns;
  for (uint32_t i = 0; i < count; i++) {
    pthread_join(member[i].thread, NULL);
    end_ns = member[i].end_ns > end_ns ? member[i].end_ns : end_ns;
  }
  return end_ns - begin_ns;
}

uint64_t together(uint32_t count, const nodes_t *nodes, uint32_t (*cpu_of)(const nodes_t *, uint32_t index),
                  void (*func)(void *arg, uint32_t index), void *arg)
{
  if (count == 1 && !cpu_of) {
    const uint64_t begin_ns = clock_now_ns();
    func(arg, 0);
    return clock_now_ns() - begin_ns;
  }
  meeting_t meeting = {.nodes = nodes, .cpu_of = cpu_of, .func = func, .arg = arg};
  member_t *const member = calloc(count, sizeof *member);
  if (!member)
    return 0;
  pthread_barrier_init(&meeting.begin, NULL, count + 1);
  const uint64_t taken_ns = time_meeting(&meeting, member, count);
  pthread_barrier_destroy(&meeting.begin);
  free(member);
  return taken_ns;
}
