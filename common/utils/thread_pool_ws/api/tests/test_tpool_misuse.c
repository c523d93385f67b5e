// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_misuse.c
/// The interface tpool: invalid arguments, and a system that refuses memory or threads.
#include "tpool_test.h"

static uint32_t calls; ///< of the wrapped functions by tpool_create()
static uint32_t refused_call; ///< the one that fails; 0 = none
static bool refuses_threads, makes_thread;

typedef void *(*body_t)(void *);

/// @return whether this allocation fails. The C library's own do not: a static program wraps those, too
static bool is_refused_call(void)
{
  if (makes_thread || ++calls != refused_call)
    return false;
  errno = ENOMEM;
  return true;
}

TEST_WRAP(void *, calloc, (size_t count, size_t size))
{
  return is_refused_call() ? NULL : __real_calloc(count, size);
}

TEST_WRAP(void *, aligned_alloc, (size_t alignment, size_t size))
{
  return is_refused_call() ? NULL : __real_aligned_alloc(alignment, size);
}

TEST_WRAP(int, pthread_create, (pthread_t * thread, const pthread_attr_t *attributes, body_t body, void *arg))
{
  if (refuses_threads)
    return EAGAIN;
  makes_thread = true;
  const int error = __real_pthread_create(thread, attributes, body, arg);
  makes_thread = false;
  return error;
}

static bool is_refused(int threads, int buffer, int error)
{
  errno = 0;
  return tpool_create(threads, buffer) == NULL && errno == error;
}

TEST_CASE(invalid_arguments_are_refused)
{
  static const int sizes[][2] = {{0, 1}, {-1, 1}, {TPOOL_THREADS_MAX + 1, 1},
                                 {1, 0}, {1, -1}, {1, TPOOL_BUFFER_MAX + 1}};
  for (uint32_t i = 0; i < TEST_COUNT(sizes); i++)
    CU_ASSERT(is_refused(sizes[i][0], sizes[i][1], EINVAL));
  tpool *pool = tpool_create(1, 1);
  const int64_t results[] = {tpool_add(NULL, test_empty_task, NULL),
                             tpool_add(pool, NULL, NULL),
                             tpool_try_add(NULL, test_empty_task, NULL),
                             tpool_try_add(pool, NULL, NULL),
                             tpool_wait(NULL),
                             tpool_shutdown(NULL),
                             tpool_shutdown_now(NULL, NULL, NULL),
                             tpool_count_working_threads(NULL)};
  for (uint32_t i = 0; i < TEST_COUNT(results); i++)
    CU_ASSERT_EQUAL(results[i], -EINVAL);
  CU_ASSERT_FALSE(tpool_is_stopping(NULL));
  tpool_destroy(NULL);
  tpool_destroy(pool);
}

/// Each allocation of the interface fails once.
TEST_CASE(no_memory)
{
  tpool *pool = NULL;
  uint32_t failures = 0;
  for (refused_call = 1; !pool; refused_call++) {
    calls = 0;
    errno = 0;
    pool = tpool_create(2, 5);
    CU_ASSERT(pool || errno == ENOMEM);
    failures += pool == NULL;
  }
  refused_call = 0;
  CU_ASSERT(failures >= 3); // the pool, its workers, its room
  tpool_destroy(pool);
}

TEST_CASE(no_threads)
{
  refuses_threads = true;
  CU_ASSERT(is_refused(2, 5, EAGAIN));
  refuses_threads = false;
}

TEST_MAIN("tpool_misuse")
