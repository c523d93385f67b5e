// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_service.c
/// ws_service.h.
#define _GNU_SOURCE // pthread_setname_np
#include "ws_service.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "../os/ws_os.h"
#include "../pool/ws_callback.h"
#include "../sleep/ws_affinity.h"

#define PRIORITY_MAX 99u

int ws_service_start(ws_service_t *service, void *(*func)(void *arg), void *arg)
{
  if (service->runs)
    return 0;
  const int error = ws_os_thread_create(&service->thread, 0, WS_PATIENCE_NS, func, arg);
  service->runs = error == 0;
  return -error;
}

void ws_service_enter(const char *name)
{
  pthread_detach(pthread_self());
  pthread_setname_np(pthread_self(), name);
  ws_cpuset_t set;
  if (ws_os_thread_cpus(getpid(), &set) == 0)
    ws_os_allow(0, &set);
}

uint32_t ws_service_priority(const ws_fiber_t *fiber)
{
  return fiber ? ws_affinity_priority(fiber->pool) : ws_os_priority(0);
}

static int set_class(pthread_t thread, uint32_t priority)
{
  const struct sched_param param = {.sched_priority = (int)priority};
  return pthread_setschedparam(thread, priority > 0 ? SCHED_FIFO : SCHED_OTHER, &param);
}

int ws_service_serve(ws_service_t *service, uint32_t priority)
{
  if (!ws_service_must_rise(service, priority))
    return 0;
  ws_store_relaxed(&service->served, priority + 1); // relaxed: under the lock
  const uint32_t above = priority == 0 ? 0 : priority < PRIORITY_MAX ? priority + 1 : PRIORITY_MAX;
  const int error = set_class(service->thread, above);
  if (error == 0)
    return 0;
  if (above > priority)
    set_class(service->thread, priority); // RLIMIT_RTPRIO may end at the pool's own
  const bool first = !service->warned;
  service->warned = true;
  return first ? error : 0;
}

void ws_service_warn(const char *name, const ws_fiber_t *fiber, int error)
{
  static const ws_settings_t none;
  if (error != 0)
    ws_warn(fiber ? &fiber->pool->settings : &none,
            "%s cannot have a priority above those that it serves (%s): one that never sleeps delays it",
            name, error == EPERM ? WS_NEEDED_FOR_CLASS : strerror(error));
}
