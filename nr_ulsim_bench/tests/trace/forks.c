// SPDX-License-Identifier: BSD-3-Clause
/// @file forks.c
/// forks <slots>...   For each number a child, which decodes four segments in each of so many slots, in a
/// pool of its own.
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ws_pool.h"
#include "ws_trace_slot.h"

#define TASKS 4u

static void segment(void *arg)
{
  (void)arg;
}

static int decode(uint32_t slots)
{
  ws_settings_t settings;
  ws_pool_t *pool;
  ws_settings_default(&settings);
  settings.workers = 1;
  if (ws_pool_create(&pool, &settings) < 0)
    return 1;
  for (uint32_t slot = 0; slot < slots; slot++) {
    ws_group_t group;
    ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 0, slot, 0);
    ws_group_init(&group, TASKS);
    for (uint32_t i = 0; i < TASKS; i++)
      if (ws_pool_push(pool, (ws_task_t){.func = segment, .group = &group}) < 0)
        return 1;
    ws_group_wait(&group, pool);
    ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  }
  ws_pool_destroy(pool);
  return 0;
}

int main(int words, char **word)
{
  for (int i = 1; i < words; i++) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
      return decode((uint32_t)atoi(word[i]));
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
      return 1;
  }
  return 0;
}
