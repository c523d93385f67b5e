// SPDX-License-Identifier: BSD-3-Clause
/// @file blocked_program.c
/// A program for test_blocked: when it calls is_blocked(), one task waits in a read(), and another in a join.
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../base/ws_atomic.h"
#include "../../../include/ws_pool.h"

void is_blocked(void);

static ws_pool_t *pool;
static int ends[2];
static ws_au64_t reader, joiner; ///< threads
static ws_group_t group;

__attribute__((noinline)) void is_blocked(void)
{
  __asm__ volatile("");
}

__attribute__((noinline)) static void read_frame(void)
{
  char byte;
  if (read(ends[0], &byte, 1) != 1)
    perror("read");
}

static void decode(void *unused)
{
  ws_store_relaxed(&reader, (uint64_t)syscall(SYS_gettid));
  read_frame();
  __asm__ volatile(""); // no tail call
}

static void join(void *unused)
{
  ws_store_relaxed(&joiner, (uint64_t)syscall(SYS_gettid));
  ws_group_wait(&group, pool);
}

/// Until the kernel shows the thread as asleep.
static void wait_until_asleep(ws_au64_t *thread)
{
  for (char state[64] = ""; !strstr(state, "S (sleeping)");) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%llu/status", (unsigned long long)ws_load_relaxed(thread));
    FILE *const file = fopen(path, "r");
    while (file && fgets(state, sizeof state, file) && strncmp(state, "State:", 6) != 0)
      ;
    if (file)
      fclose(file);
  }
}

int main(void)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 2;
  ws_group_init(&group, 1);
  if (pipe(ends) != 0 || ws_pool_create(&pool, &settings) < 0)
    return 1;
  ws_pool_push(pool, (ws_task_t){.func = decode});
  wait_until_asleep(&reader);
  ws_pool_push(pool, (ws_task_t){.func = join});
  wait_until_asleep(&joiner);
  is_blocked();
  ws_group_complete(&group, 1);
  if (write(ends[1], "x", 1) != 1)
    return 1;
  ws_pool_destroy(pool);
  return 0;
}
