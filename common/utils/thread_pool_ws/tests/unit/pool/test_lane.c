// SPDX-License-Identifier: BSD-3-Clause
/// @file test_lane.c
/// Threads that are not workers: which queue is theirs, in how many pools, and what becomes of it when they
/// end: lanes that their owner could not free, hosts without a free thread-specific key, the end of the
/// library, and that of a forked child. Lanes that are reused: scenes/queues.c.
#include "../../../pool/ws_lane.h"

#include "../../support/ws_seam.h"

typedef struct {
  ws_pool_t *pool;
  ws_au64_t *count;
  uint32_t tasks;
  ws_queue_t *lane; ///< out
} pusher_t;

static void *push_and_end(void *pusher_arg)
{
  pusher_t *pusher = pusher_arg;
  pusher->lane = ws_here(pusher->pool).queue;
  for (uint32_t i = 0; i < pusher->tasks; i++)
    test_push(pusher->pool, test_count_task, pusher->count, NULL);
  return NULL; // its tasks stay in its lane
}

static bool gets_a_lane(void *pusher_arg)
{
  pusher_t *pusher = pusher_arg;
  ws_store_relaxed(&pusher->pool->inherited_ns, 0); // relaxed: as if no thread had looked lately
  pusher->lane = NULL;
  test_in_threads(1, push_and_end, pusher);
  return pusher->lane != NULL;
}

// Before the process makes its key: the cases with a child.

static int push_without_keys(void *unused)
{
  pthread_key_t key;
  while (pthread_key_create(&key, NULL) == 0)
    continue;
  ws_au64_t count = {0};
  ws_settings_t settings = test_settings(1);
  settings.lanes = 2;
  pusher_t pusher = {.pool = test_create(&settings), .count = &count, .tasks = 5};
  for (uint32_t i = 0; i < 10; i++)
    test_in_threads(1, push_and_end, &pusher);
  if (ws_pool_wait(pusher.pool) != 0 || test_value(&count) != 50)
    return 1;
  return test_until(gets_a_lane, &pusher) ? 0 : 2;
}

/// The child of such a process ends in _exit, where clang's ThreadSanitizer fails about every second time.
TEST_CASE(host_without_a_free_key)
{
#ifdef __clang__
  TEST_SKIP_IF(TEST_SANITIZED, "clang's sanitizers");
#endif
  CU_ASSERT_EQUAL(test_in_child(push_without_keys, NULL), 0);
}

enum { KEY_WAS_DELETED = 42 };

static bool end_at_delete;

static int pthread_key_delete_seam(pthread_key_t key)
{
  const int result = __real_pthread_key_delete(key);
  if (end_at_delete)
    _exit(result == 0 ? KEY_WAS_DELETED : 1);
  return result;
}

static int push_and_exit(void *unused)
{
  ws_pool_t *pool = test_pool(1);
  test_push(pool, test_empty_task, NULL, NULL);
  test_destroy(pool);
  end_at_delete = true;
  exit(0);
}

/// The destructor of the library, which an unload runs as well, gives the key back.
TEST_CASE(key_ends_with_the_library)
{
  CU_ASSERT_EQUAL(test_in_child(push_and_exit, NULL), KEY_WAS_DELETED);
}

enum { CHILD_HAS_EXITED = 43 };

static test_gate_t key_gate;
static bool stand_in_create;

TEST_BEFORE_SANITIZER static int pthread_key_create_seam(pthread_key_t *key, void (*destructor)(void *))
{
  if (stand_in_create)
    test_gate_task(&key_gate);
  return __real_pthread_key_create(key, destructor);
}

static int exit_at_once(void *unused)
{
  exit(CHILD_HAS_EXITED);
}

/// The thread's first push makes the key, under the process's lock.
static int fork_in_first_push(void *unused)
{
  ws_au64_t count = {0};
  pusher_t pusher = {.pool = test_pool(1), .count = &count, .tasks = 1};
  test_gate_init(&key_gate);
  stand_in_create = true;
  test_threads_t threads = {0};
  test_spawn(&threads, push_and_end, &pusher);
  if (!test_gate_await(&key_gate, 1))
    return 1;
  const int result = test_in_child(exit_at_once, NULL);
  test_gate_let(&key_gate, 1);
  test_join(&threads);
  test_destroy(pusher.pool);
  return result;
}

/// A child that only exits does not wait for a lock of a thread that it does not have.
TEST_CASE(forked_child_exits)
{
  CU_ASSERT_EQUAL(test_in_child(fork_in_first_push, NULL), CHILD_HAS_EXITED);
}

static pthread_key_t late_key;

/// Pushes in every round of destructors: after the last round no destructor frees the lane.
static void push_in_each_round(void *pusher_arg)
{
  push_and_end(pusher_arg);
  pthread_setspecific(late_key, pusher_arg);
}

static void *push_in_each_round_later(void *pusher_arg)
{
  pthread_setspecific(late_key, pusher_arg);
  return NULL;
}

/// More threads than lanes end without freeing theirs, one after the other: the next ones inherit them. A
/// sanitizer's own data of a thread ends in the last round, too: a push after it would end the sanitizer.
TEST_CASE(lanes_of_the_last_round_are_inherited)
{
  TEST_SKIP_IF(TEST_SANITIZED, "a sanitizer");
  ws_au64_t count = {0};
  ws_settings_t settings = test_settings(1);
  settings.lanes = 2;
  pusher_t late = {.pool = test_create(&settings), .count = &count, .tasks = 1};
  pusher_t next = late;
  pthread_key_create(&late_key, push_in_each_round);
  for (uint32_t i = 0; i < 4 * settings.lanes; i++) {
    test_in_threads(1, push_in_each_round_later, &late);
    CU_ASSERT_TRUE(test_until(gets_a_lane, &next));
  }
  pthread_key_delete(late_key);
  CU_ASSERT_EQUAL(ws_pool_wait(late.pool), 0);
  CU_ASSERT_TRUE(test_stats(late.pool).lanes_used <= settings.lanes);
  test_destroy(late.pool);
}

TEST_MAIN_SEAMS("lane", SEAM(pthread_key_delete), SEAM(pthread_key_create))
