// SPDX-License-Identifier: BSD-3-Clause
/// @file test_service.c
/// The class of the threads that serve fibers of all pools: ws_alarm and ws_reactor. Threads seem to have the
/// class that the test names, and the changes of a class are recorded. Each case is a process of its own.
#include <poll.h>

#include "../../../fiber/ws_alarm.h"
#include "../../../fiber/ws_fiber_process.h"
#include "../../../include/ws_fd.h"
#include "../../../sleep/ws_affinity.h"
#include "../../support/ws_death.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

#define CHANGES_MAX 16

static ws_au32_t seeming; ///< real-time priority of all threads; 0 = the real class
static ws_au32_t refused = {100}; ///< lowest priority that is; 0 = also the normal class
static ws_au32_t changes;
static struct {
  pthread_t thread;
  int policy, priority, error;
} change[CHANGES_MAX];

static uint32_t ws_os_priority_seam(int32_t tid)
{
  (void)tid;
  return ws_load_acquire(&seeming);
}

static int pthread_setschedparam_seam(pthread_t thread, int policy, const struct sched_param *param)
{
  if (pthread_equal(thread, pthread_self()))
    return 0; // no service: those are changed by the threads that wait
  const int error = (uint32_t)param->sched_priority >= ws_load_acquire(&refused) ? EPERM : 0;
  const uint32_t i = ws_add_acq_rel(&changes, 1);
  if (i < CHANGES_MAX) {
    change[i].thread = thread;
    change[i].policy = policy;
    change[i].priority = param->sched_priority;
    change[i].error = error;
  }
  return error;
}

static bool is_of(uint32_t i, const ws_service_t *service)
{
  return service->runs && pthread_equal(change[i].thread, service->thread);
}

static uint32_t changes_of(const ws_service_t *service)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < ws_load_acquire(&changes) && i < CHANGES_MAX; i++)
    count += is_of(i, service);
  return count;
}

/// @return whether the change number @p n of this service was to this class, and its result
static bool is_change(uint32_t n, const ws_service_t *service, int policy, int priority, int error)
{
  uint32_t i = 0;
  for (uint32_t left = n; i < CHANGES_MAX && (left > 0 || !is_of(i, service)); i++)
    left -= is_of(i, service);
  return i < CHANGES_MAX && change[i].policy == policy && change[i].priority == priority
         && change[i].error == error;
}

static ws_pool_t *pool_of(uint32_t priority)
{
  ws_store_release(&seeming, priority);
  ws_pool_t *pool = test_pool(2);
  ws_store_release(&seeming, 0); // the threads that push, or help, have no part in it
  note(ws_affinity_priority(pool) == priority);
  return pool;
}

static void nap(void *unused)
{
  note(ws_sleep_ns(1) == 0); // may be over before it begins
  note(ws_sem_wait_until(&(ws_sem_t)WS_SEM_INIT(0), 1) == -ETIMEDOUT);
}

static void look(void *ends)
{
  note(ws_fd_wait_until(*(const int *)ends, POLLIN, 0) == -ETIMEDOUT);
}

/// A fiber of a pool with this priority waits. @return warnings of that pool
static uint32_t wait_in(uint32_t priority, void (*how)(void *), void *arg)
{
  ws_pool_t *pool = pool_of(priority);
  note(ws_fiber_push(pool, how, arg, NULL, NULL) == 0);
  ws_pool_wait(pool);
  test_destroy(pool);
  return test_warnings.count;
}

/// A case, in a child. @p end  whether all was as it should be
static int end(bool good)
{
  return good && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

/// The service has the normal class, and rises with higher pools: one above each.
static int rise(void *unused)
{
  static const uint32_t priority[] = {0, 0, 50, 30, 50, 98, 99, 0};
  static const uint32_t changes_then[] = {1, 1, 2, 2, 2, 3, 4, 4};
  const ws_service_t *alarm = &ws_fiber_process.alarm;
  bool good = true;
  for (uint32_t i = 0; i < TEST_COUNT(priority); i++)
    good = wait_in(priority[i], nap, NULL) == 0 && changes_of(alarm) == changes_then[i] && good;
  return end(good && is_change(0, alarm, SCHED_OTHER, 0, 0) && is_change(1, alarm, SCHED_FIFO, 51, 0)
             && is_change(2, alarm, SCHED_FIFO, 99, 0) && is_change(3, alarm, SCHED_FIFO, 99, 0));
}

/// The system allows no more than the pool's own priority, then less than that: one warning in all.
static int be_refused(void *unused)
{
  const ws_service_t *alarm = &ws_fiber_process.alarm;
  ws_store_release(&refused, 51);
  bool good = wait_in(50, nap, NULL) == 1 && test_warnings_with("ws_alarm") == 1;
  good = good && test_warnings_with("CAP_SYS_NICE") == 1 && changes_of(alarm) == 2;
  good = good && is_change(0, alarm, SCHED_FIFO, 51, EPERM);
  good = good && is_change(1, alarm, SCHED_FIFO, 50, 0);
  good = wait_in(50, nap, NULL) == 0 && changes_of(alarm) == 2 && good; // not tried again
  return end(wait_in(60, nap, NULL) == 0 && is_change(2, alarm, SCHED_FIFO, 61, EPERM) && good);
}

/// The service for descriptors rises with pools, and with threads outside that wait themselves.
static int rise_by_descriptors(void *unused)
{
  int ends[2];
  const ws_service_t *reactor = &ws_fiber_process.reactor_thread;
  if (pipe(ends) != 0)
    return 2;
  bool good = wait_in(20, look, ends) == 0 && wait_in(0, look, ends) == 0;
  good = changes_of(reactor) == 1 && is_change(0, reactor, SCHED_FIFO, 21, 0) && good;
  look(ends);
  good = changes_of(reactor) == 1 && good;
  ws_store_release(&seeming, 40);
  look(ends);
  good = changes_of(reactor) == 2 && is_change(1, reactor, SCHED_FIFO, 41, 0) && good;
  return end(good);
}

/// Stacks are freed before any fiber waits.
static void trim_refused(void)
{
  ws_store_release(&refused, 0);
  ws_alarm_trim();
  exit(CHILD_GOOD);
}

TEST_CASE(a_trim_that_is_refused_is_a_warning)
{
  char text[1024];
  CU_ASSERT_EQUAL(death_status(trim_refused, text, sizeof(text)), CHILD_GOOD);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "ws_alarm cannot have a priority"));
}

CHILD_CASE(test_rise, rise)
CHILD_CASE(test_descriptors, rise_by_descriptors)

CHILD_CASE(test_rights, be_refused)

TEST_MAIN_SEAMS("service", SEAM(ws_os_priority), SEAM(pthread_setschedparam))
