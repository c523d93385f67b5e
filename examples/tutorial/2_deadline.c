// SPDX-License-Identifier: BSD-3-Clause
/// @file 2_deadline.c
/// docs/tutorial.md, step 2: what is urgent runs first, and what has not begun at the deadline is cancelled.
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "work.h"
#include "ws_key.h"
#include "ws_pool.h"

#define URGENT 4u
#define OPTIONAL 2000u ///< 100 us each: too much for the time
#define DEADLINE_NS 5000000u

static atomic_uint urgent_done, optional_done, optional_cancelled;

static void urgent(void *unused)
{
  (void)unused;
  work_us(20);
  atomic_fetch_add(&urgent_done, 1);
}

static void optional(void *unused)
{
  (void)unused;
  work_us(100);
  atomic_fetch_add(&optional_done, 1);
}

static void cancelled(void *unused)
{
  (void)unused;
  atomic_fetch_add(&optional_cancelled, 1);
}

int main(void)
{
  static ws_keyed_t task[OPTIONAL]; // the library does not copy tasks with a key
  ws_settings_t settings;
  ws_settings_default(&settings);
  ws_pool_t *pool;
  if (ws_pool_create(&pool, &settings) < 0)
    return 1;
  ws_group_t group;
  ws_group_init(&group, URGENT + OPTIONAL);
  ws_key_t key;
  ws_key_init(&key);
  const uint64_t deadline_ns = now_ns() + DEADLINE_NS;
  for (uint32_t i = 0; i < OPTIONAL; i++) {
    task[i] = (ws_keyed_t){
        .key = &key, .func = optional, .on_cancel = cancelled, .group = &group, .priority = WS_PRIORITY_LOW};
    if (ws_pool_push_keyed(pool, &task[i]) < 0)
      return 1;
  }
  for (uint32_t i = 0; i < URGENT; i++) { // pushed last, run first
    const ws_task_t now = {.func = urgent, .group = &group, .priority = WS_PRIORITY_HIGH};
    if (ws_pool_push(pool, now) < 0)
      return 1;
  }
  if (ws_group_wait_until(&group, pool, deadline_ns) == -ETIMEDOUT) {
    const int64_t count = ws_pool_cancel(pool, &key);
    printf("deadline: %" PRId64 " tasks cancelled\n", count);
    ws_group_wait(&group, pool); // those that have begun end; those that are cancelled complete the group
  }
  printf("urgent %u of %u, optional %u, cancelled %u\n", urgent_done, URGENT, optional_done,
         optional_cancelled);
  ws_pool_destroy(pool);
  return urgent_done == URGENT && optional_done + optional_cancelled == OPTIONAL ? 0 : 1;
}
