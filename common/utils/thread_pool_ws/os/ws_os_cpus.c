// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_cpus.c
/// ws_os.h: sets of CPUs, the machine's CPUs and NUMA nodes, on which CPUs threads may run. A thread is kept
/// off a CPU for a time, and its affinity restored afterwards.
#define _GNU_SOURCE
#include "ws_os.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MAX 8192u

static bool get_mask(int32_t tid, unsigned long *mask, size_t bytes)
{
  return sched_getaffinity(tid, bytes, (cpu_set_t *)mask) == 0;
}

static bool set_mask(int32_t tid, const unsigned long *mask, size_t bytes)
{
  return sched_setaffinity(tid, bytes, (const cpu_set_t *)mask) == 0;
}

int ws_os_thread_cpus(int32_t tid, ws_cpuset_t *set)
{
  // The kernel refuses a set that is smaller than its own (EINVAL): double until it fits.
  for (size_t bytes = 128; bytes <= 1u << 20; bytes *= 2) {
    unsigned long *mask = calloc(1, bytes);
    if (!mask)
      return -ENOMEM;
    if (get_mask(tid, mask, bytes)) {
      *set = (ws_cpuset_t){.bytes = bytes, .mask = mask};
      return 0;
    }
    const int error = errno;
    free(mask);
    if (error != EINVAL)
      return -error;
  }
  return -EINVAL;
}

uint32_t ws_os_process_cpu_count(void)
{
  unsigned long mask[CPUS_MAX / WS_LONG_BITS] = {0};
  if (!get_mask(0, mask, sizeof(mask)))
    return 0;
  return ws_os_cpuset_count(&(ws_cpuset_t){.bytes = sizeof(mask), .mask = mask});
}

void ws_os_cpuset_free(ws_cpuset_t *set)
{
  free(set->mask);
  *set = (ws_cpuset_t){0};
}

bool ws_os_cpuset_has(const ws_cpuset_t *set, uint32_t cpu)
{
  return cpu / 8 < set->bytes && ((set->mask[cpu / WS_LONG_BITS] >> (cpu % WS_LONG_BITS)) & 1);
}

uint32_t ws_os_cpuset_count(const ws_cpuset_t *set)
{
  uint32_t count = 0;
  for (size_t i = 0; i < set->bytes / sizeof(unsigned long); i++)
    count += (uint32_t)__builtin_popcountl(set->mask[i]);
  return count;
}

int ws_os_pin(int32_t tid, uint32_t cpu)
{
  const size_t bytes = (cpu / WS_LONG_BITS + 1) * sizeof(unsigned long);
  unsigned long *mask = calloc(1, bytes);
  if (!mask)
    return -ENOMEM;
  mask[cpu / WS_LONG_BITS] = 1ul << (cpu % WS_LONG_BITS);
  const int result = ws_os_allow(tid, &(ws_cpuset_t){.bytes = bytes, .mask = mask});
  free(mask);
  return result;
}

int ws_os_allow(int32_t tid, const ws_cpuset_t *cpus)
{
  return set_mask(tid, cpus->mask, cpus->bytes) ? 0 : -errno;
}

bool ws_os_read_list(const char *path, ws_cpuset_t *set)
{
  char text[4096], *next = text;
  if (!ws_os_read(path, text, sizeof(text)))
    return false;
  while (*next >= '0' && *next <= '9') {
    const uint64_t first = strtoul(next, &next, 10);
    const uint64_t last = *next == '-' ? strtoul(next + 1, &next, 10) : first;
    for (uint64_t i = first; i <= last && i < 8 * set->bytes; i++)
      set->mask[i / WS_LONG_BITS] |= 1ul << (i % WS_LONG_BITS);
    next += *next == ',';
  }
  return true;
}

int ws_os_process_cpus(ws_cpuset_t *set)
{
  const int result = ws_os_thread_cpus(0, set);
  if (result == 0 || result == -ENOMEM)
    return result;
  *set = (ws_cpuset_t){.bytes = CPUS_MAX / 8, .mask = calloc(1, CPUS_MAX / 8)};
  if (!set->mask)
    return -ENOMEM;
  ws_os_read_list("/sys/devices/system/cpu/online", set);
  if (ws_os_cpuset_count(set) == 0) // the kernel does not name them
    set->mask[0] = 1;
  return -result;
}

uint32_t ws_os_node_count(void)
{
  unsigned long mask[CPUS_MAX / WS_LONG_BITS] = {0};
  ws_cpuset_t nodes = {.bytes = sizeof(mask), .mask = mask};
  ws_os_read_list("/sys/devices/system/node/online", &nodes);
  const uint32_t count = ws_os_cpuset_count(&nodes);
  return count > 0 ? count : 1;
}

/// @return whether every CPU of @p part is in @p whole
static bool holds(const unsigned long *whole, const unsigned long *part, size_t bytes)
{
  for (size_t i = 0; i < bytes / sizeof(unsigned long); i++)
    if (part[i] & ~whole[i])
      return false;
  return true;
}

/// The masks are used by the thread itself and by the one that releases it early. Neither waits.
enum { MASKS_FREE, MASKS_HELD, MASKS_ASKED }; // asked: held, and the holder has to widen before it lets go

/// @return whether the thread may use what it has without @p cpu, which is then in narrow
static bool plan(ws_confine_t *confine, int32_t tid, uint32_t cpu)
{
  unsigned long has[WS_CONFINE_BYTES / sizeof(unsigned long)];
  const size_t bytes = confine->bytes;
  if (!get_mask(tid, has, bytes))
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
  if (get_mask(tid, seen, bytes) && memcmp(seen, confine->narrow, bytes) != 0)
    return; // it was changed from elsewhere since
  if (confine->widens_by == WS_WIDENS_ALL && set_mask(tid, all, bytes))
    return;
  const bool finds_out = confine->widens_by == WS_WIDENS_UNKNOWN && tid == 0;
  if (finds_out && set_mask(tid, all, bytes) && get_mask(tid, seen, bytes)) {
    confine->widens_by = memcmp(seen, confine->had, bytes) == 0 ? WS_WIDENS_ALL : WS_WIDENS_HAD;
    if (confine->widens_by == WS_WIDENS_ALL || !holds(seen, confine->had, bytes))
      return; // as before; or CPUs were taken away from elsewhere since
  }
  set_mask(tid, confine->had, bytes);
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
  uint32_t unlocked = MASKS_FREE;
  if (confine->bytes == 0 || confine->bytes > WS_CONFINE_BYTES)
    return -EAGAIN;
  if (!ws_cas_acq_rel(&confine->busy, &unlocked, MASKS_HELD)) // [edge CONFINE acquire] the masks
    return -EAGAIN;
  unsigned long before[WS_CONFINE_BYTES / sizeof(unsigned long)];
  memcpy(before, confine->narrow, confine->bytes);
  int result = 0;
  if (!plan(confine, tid, cpu))
    result = -ENOENT;
  else if (!set_mask(tid, confine->narrow, confine->bytes))
    result = -errno;
  confine->on = confine->on || result == 0;
  if (result != 0)
    memcpy(confine->narrow, before, confine->bytes);
  unlock(confine, tid);
  return result;
}

void ws_os_unconfine(ws_confine_t *confine, int32_t tid)
{
  // [edge CONFINE acquire] the masks
  if (confine->bytes > 0 && ws_xchg_acq_rel(&confine->busy, MASKS_ASKED) == MASKS_FREE)
    unlock(confine, tid);
}
