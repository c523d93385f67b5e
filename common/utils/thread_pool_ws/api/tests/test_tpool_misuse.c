// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_misuse.c
/// The interface tpool: invalid arguments, a system that refuses memory or threads, and jobs that end their
/// thread.
#define _GNU_SOURCE
#include "tpool_test.h"

#include <stdlib.h>

static uint32_t calls; ///< of the wrapped functions by tpool_create()
static uint32_t refused_call; ///< the one that fails; 0 = none
static bool refuses_threads;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
typedef void *(*body_t)(void *);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, body_t body, void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, body_t body, void *arg);

void *__wrap_calloc(size_t count, size_t size)
{
  return ++calls == refused_call ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
  return ++calls == refused_call ? NULL : __real_aligned_alloc(alignment, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, body_t body, void *arg)
{
  return refuses_threads ? EAGAIN : __real_pthread_create(thread, attributes, body, arg);
}

static bool is_refused(int threads, int buffer, int error)
{
  errno = 0;
  return tpool_create(threads, buffer) == NULL && errno == error;
}

static void sizes_have_bounds(void)
{
  CU_ASSERT(is_refused(0, 1, EINVAL));
  CU_ASSERT(is_refused(-1, 1, EINVAL));
  CU_ASSERT(is_refused(TPOOL_THREADS_MAX + 1, 1, EINVAL));
  CU_ASSERT(is_refused(1, 0, EINVAL));
  CU_ASSERT(is_refused(1, -1, EINVAL));
  CU_ASSERT(is_refused(1, TPOOL_BUFFER_MAX + 1, EINVAL));
}

/// The largest buffer takes as many jobs.
static void largest_buffer(void)
{
  test_full_t full;
  CU_ASSERT_FATAL(test_fill(&full, TPOOL_BUFFER_MAX));
  CU_ASSERT_EQUAL(tpool_try_add(full.pool, test_count_task, &full.ran), -EAGAIN);
  test_gate_let(&full.gate, 1);
  CU_ASSERT_EQUAL(tpool_wait(full.pool), 0);
  CU_ASSERT_EQUAL(test_value(&full.ran), TPOOL_BUFFER_MAX);
  tpool_destroy(full.pool);
  test_gate_destroy(&full.gate);
}

static void null_is_refused(void)
{
  tpool *pool = tpool_create(1, 1);
  CU_ASSERT_EQUAL(tpool_add(NULL, test_empty_task, NULL), -EINVAL);
  CU_ASSERT_EQUAL(tpool_add(pool, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(tpool_try_add(NULL, test_empty_task, NULL), -EINVAL);
  CU_ASSERT_EQUAL(tpool_try_add(pool, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(tpool_wait(NULL), -EINVAL);
  CU_ASSERT_EQUAL(tpool_shutdown(NULL), -EINVAL);
  CU_ASSERT_EQUAL(tpool_shutdown_now(NULL, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(tpool_count_working_threads(NULL), -EINVAL);
  CU_ASSERT_FALSE(tpool_is_stopping(NULL));
  tpool_destroy(NULL);
  tpool_destroy(pool);
}

/// Each allocation of the interface fails once.
static void no_memory(void)
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

static void no_threads(void)
{
  refuses_threads = true;
  CU_ASSERT(is_refused(2, 5, EAGAIN));
  refuses_threads = false;
}

TEST_MAIN("tpool_misuse", TEST_CASE(sizes_have_bounds), TEST_CASE(largest_buffer), TEST_CASE(null_is_refused),
          TEST_CASE(no_memory), TEST_CASE(no_threads))
