// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_affinity.c
/// ws_os.h: keep a thread off a CPU for a time, and restore its affinity afterwards.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "ws_os.h"

static bool get(int32_t tid, unsigned long *mask, size_t bytes)
{
  return sched_getaffinity(tid, bytes, (cpu_set_t *)mask) == 0;
}

static bool set(int32_t tid, const unsigned long *mask, size_t bytes)
{
  return sched_setaffinity(tid, bytes, (const cpu_set_t *)mask) == 0;
}

/// @return whether every CPU of @p part is in @p whole
static bool holds(const unsigned long *whole, const unsigned long *part, size_t bytes)
{
  for (size_t i = 0; i < bytes / sizeof(unsigned long); i++)
    if (part[i] & ~whole[i])
      return false;
  return true;
}

int ws_os_allow(int32_t tid, const ws_cpuset_t *cpus)
{
  return set(tid, cpus->mask, cpus->bytes) ? 0 : -errno;
}

/// The masks are used by the thread itself and by the one that releases it early. Neither waits.
enum { MASKS_FREE, MASKS_HELD, MASKS_ASKED }; // asked: held, and the holder has to widen before it lets go

static bool try_lock(ws_confine_t *confine)
{
  uint32_t unlocked = MASKS_FREE;
  return ws_cas_acq_rel(&confine->busy, &unlocked, MASKS_HELD); // [edge CONFINE acquire] the masks
}

/// @return whether the thread may use what it has without @p cpu, which is then in narrow
static bool plan(ws_confine_t *confine, int32_t tid, uint32_t cpu)
{
  unsigned long has[WS_CONFINE_BYTES / sizeof(unsigned long)];
  const size_t bytes = confine->bytes;
  if (!get(tid, has, bytes))
    return false;
  if (!confine->on) {
    if (memcmp(has, confine->had, bytes) != 0)
      confine->widens_by = WS_WIDENS_UNKNOWN;
    memcpy(confine->had, has, bytes);
  } else if (memcmp(has, confine->narrow, bytes) != 0) {
    return false; // it was changed from elsewhere since
  }
  memcpy(confine->narrow, confine->had, bytes);
  if (cpu / 8 < bytes)
    confine->narrow[cpu / WS_LONG_BITS] &= ~(1ul << (cpu % WS_LONG_BITS));
  return ws_os_cpuset_count(&(ws_cpuset_t){.bytes = bytes, .mask = confine->narrow}) > 0;
}

/// If only a cpuset restricted the thread before, the thread asks for all CPUs and gets those of the cpuset:
/// since Linux 6.2 a thread that asked for fewer would not follow a cpuset that grows. Otherwise (taskset,
/// isolcpus) it asks for the CPUs that it had. The thread itself finds out which of the two holds, once for
/// each mask, by asking for all CPUs for a moment. Another thread must not do that: it could be stopped in
/// that moment, for long.
static void widen(ws_confine_t *confine, int32_t tid)
{
  unsigned long all[sizeof(confine->had) / sizeof(unsigned long)];
  unsigned long seen[sizeof(confine->had) / sizeof(unsigned long)];
  const size_t bytes = confine->bytes;
  memset(all, 0xff, bytes);
  if (get(tid, seen, bytes) && memcmp(seen, confine->narrow, bytes) != 0)
    return; // it was changed from elsewhere since
  if (confine->widens_by == WS_WIDENS_ALL && set(tid, all, bytes))
    return;
  const bool finds_out = confine->widens_by == WS_WIDENS_UNKNOWN && tid == 0;
  if (finds_out && set(tid, all, bytes) && get(tid, seen, bytes)) {
    confine->widens_by = memcmp(seen, confine->had, bytes) == 0 ? WS_WIDENS_ALL : WS_WIDENS_HAD;
    if (confine->widens_by == WS_WIDENS_ALL || !holds(seen, confine->had, bytes))
      return; // as before; or CPUs were taken away from elsewhere since
  }
  set(tid, confine->had, bytes);
}

/// Let go of the masks. A thread that came meanwhile to widen has left that to the holder.
static void unlock(ws_confine_t *confine, int32_t tid)
{
  uint32_t held = MASKS_HELD;
  while (!ws_cas_acq_rel(&confine->busy, &held, MASKS_FREE)) { // [edge CONFINE release] the masks
    held = MASKS_HELD;
    ws_store_relaxed(&confine->busy, held); // relaxed: the CAS above, once it succeeds, publishes
    if (confine->on)
      widen(confine, tid);
    confine->on = false;
  }
}

int ws_os_confine(ws_confine_t *confine, int32_t tid, uint32_t cpu)
{
  if (confine->bytes == 0 || confine->bytes > WS_CONFINE_BYTES || !try_lock(confine))
    return -EAGAIN;
  unsigned long before[WS_CONFINE_BYTES / sizeof(unsigned long)];
  memcpy(before, confine->narrow, confine->bytes);
  int result = 0;
  if (!plan(confine, tid, cpu))
    result = -ENOENT;
  else if (!set(tid, confine->narrow, confine->bytes))
    result = -errno;
  confine->on = confine->on || result == 0;
  if (result != 0)
    memcpy(confine->narrow, before, confine->bytes);
  unlock(confine, tid);
  return result;
}

void ws_os_unconfine(ws_confine_t *confine, int32_t tid)
{
  if (confine->bytes == 0)
    return;
  if (ws_xchg_acq_rel(&confine->busy, MASKS_ASKED) == MASKS_FREE) // [edge CONFINE acquire] the masks
    unlock(confine, tid);
}
