// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fence.c
/// Heavy fences (ws_os.h) of a kernel that has membarrier(2), and of one that refuses it (--wrap=syscall).
#include <linux/membarrier.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "../../support/ws_test.h"

enum { PASSED_ON, REFUSED, GRANTED };

static ws_au32_t answer; ///< of the kernel to membarrier(2)
static ws_au32_t registrations, barriers, others; ///< calls of it

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static long membarrier(long command, long flags)
{
  const bool registers = command == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  const bool fences = command == MEMBARRIER_CMD_PRIVATE_EXPEDITED;
  ws_add_relaxed(registers ? &registrations : fences ? &barriers : &others, 1);
  if (ws_load_relaxed(&answer) == PASSED_ON)
    return __real_syscall(SYS_membarrier, command, flags, 0);
  errno = EPERM;
  return ws_load_relaxed(&answer) == GRANTED ? 0 : -1;
}

long __wrap_syscall(long number, ...)
{
  long arg[6];
  va_list list;
  va_start(list, number);
  for (uint32_t i = 0; i < TEST_COUNT(arg); i++)
    arg[i] = va_arg(list, long);
  va_end(list);
  return number == SYS_membarrier ? membarrier(arg[0], arg[1])
                                  : __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void begin(uint32_t next)
{
  ws_store_relaxed(&answer, next);
  ws_store_relaxed(&registrations, 0);
  ws_store_relaxed(&barriers, 0);
  ws_store_relaxed(&others, 0);
}

/// @return calls of membarrier(2) since begin(): 100 x registrations + barriers
static uint32_t calls(void)
{
  CU_ASSERT_EQUAL(ws_load_relaxed(&others), 0);
  return 100 * ws_load_relaxed(&registrations) + ws_load_relaxed(&barriers);
}

TEST_CASE(the_kernel_is_asked_once)
{
  static const struct {
    uint32_t answer;
    bool has;
    uint32_t fences, calls; ///< as calls()
  } rows[] = {{GRANTED, true, 2, 102}, {REFUSED, false, 1, 100}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(rows[i].answer);
    ws_os_fence_heavy(false); // without light fences
    CU_ASSERT_EQUAL(calls(), 0);
    CU_ASSERT_EQUAL(ws_os_fence_begin(), rows[i].has);
    for (uint32_t k = 0; k < rows[i].fences; k++)
      ws_os_fence_heavy(rows[i].has);
    CU_ASSERT_EQUAL(calls(), rows[i].calls);
  }
}

static ws_au64_t count;

/// @return whether fills of a pool's inboxes have light fences
static bool is_light(uint32_t workers)
{
  ws_pool_t *pool = test_pool(workers);
  for (uint32_t i = 0; i < 100; i++)
    test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0); // a heavy fence; the guard has asked before it ended
  const bool light = ws_load_relaxed(&pool->tasks.light);
  test_destroy(pool);
  return light;
}

/// A pool of one worker has none: its guard looks at no tasks.
TEST_CASE(pools_have_light_fences_if_there_are_heavy_ones)
{
  begin(REFUSED);
  CU_ASSERT_FALSE(is_light(4));
  CU_ASSERT_EQUAL(calls(), 100);
  begin(PASSED_ON);
  const bool has = ws_os_fence_begin();
  begin(PASSED_ON);
  CU_ASSERT_EQUAL(is_light(4), has);
  CU_ASSERT_EQUAL(ws_load_relaxed(&registrations), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&barriers) > 0, has);
  begin(PASSED_ON);
  CU_ASSERT_FALSE(is_light(1));
  CU_ASSERT_EQUAL(ws_load_relaxed(&registrations), 0);
  CU_ASSERT_EQUAL(test_value(&count), 300);
}

TEST_MAIN("fence")
