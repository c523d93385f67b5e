// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_cpus.c
/// ws_os.h: the machine's CPUs and NUMA nodes. On which CPUs threads may run: a thread is kept off a CPU for
/// a time, and its affinity restored afterwards. How many CPUs' worth of time the control groups of this
/// process grant (cgroup v2 cpu.max, v1 cpu.cfs_quota_us), and how often that was used up (cpu.stat).
#define _GNU_SOURCE
#include "ws_os.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

int ws_os_thread_cpus(int32_t tid, ws_cpuset_t *set)
{
  return sched_getaffinity(tid, sizeof(set->mask), (cpu_set_t *)set->mask) == 0 ? 0 : -errno;
}

uint32_t ws_os_process_cpu_count(void)
{
  ws_cpuset_t set;
  return ws_os_thread_cpus(0, &set) == 0 ? ws_os_cpuset_count(&set) : 0;
}

bool ws_os_cpuset_has(const ws_cpuset_t *set, uint32_t cpu)
{
  return cpu < WS_CPUSET_MAX && ((set->mask[cpu / WS_LONG_BITS] >> (cpu % WS_LONG_BITS)) & 1);
}

uint32_t ws_os_cpuset_count(const ws_cpuset_t *set)
{
  uint32_t count = 0;
  for (size_t i = 0; i < WS_CPUSET_MAX / WS_LONG_BITS; i++)
    count += (uint32_t)__builtin_popcountl(set->mask[i]);
  return count;
}

int ws_os_pin(int32_t tid, uint32_t cpu)
{
  ws_cpuset_t set = {0};
  if (cpu >= WS_CPUSET_MAX)
    return -EINVAL;
  set.mask[cpu / WS_LONG_BITS] = 1ul << (cpu % WS_LONG_BITS);
  return ws_os_allow(tid, &set);
}

int ws_os_allow(int32_t tid, const ws_cpuset_t *cpus)
{
  return sched_setaffinity(tid, sizeof(cpus->mask), (const cpu_set_t *)cpus->mask) == 0 ? 0 : -errno;
}

bool ws_os_read_list(const char *path, ws_cpuset_t *set)
{
  char text[4096], *next = text;
  memset(set, 0, sizeof(*set));
  if (!ws_os_read(path, text, sizeof(text)))
    return false;
  while (*next >= '0' && *next <= '9') {
    const uint64_t first = strtoul(next, &next, 10);
    const uint64_t last = *next == '-' ? strtoul(next + 1, &next, 10) : first;
    for (uint64_t i = first; i <= last && i < WS_CPUSET_MAX; i++)
      set->mask[i / WS_LONG_BITS] |= 1ul << (i % WS_LONG_BITS);
    next += *next == ',';
  }
  return true;
}

int ws_os_process_cpus(ws_cpuset_t *set)
{
  const int result = ws_os_thread_cpus(0, set);
  if (result == 0)
    return 0;
  ws_os_read_list("/sys/devices/system/cpu/online", set);
  if (ws_os_cpuset_count(set) == 0) // the kernel does not name them
    set->mask[0] = 1;
  return -result;
}

uint32_t ws_os_node_count(void)
{
  ws_cpuset_t nodes;
  ws_os_read_list("/sys/devices/system/node/online", &nodes);
  const uint32_t count = ws_os_cpuset_count(&nodes);
  return count > 0 ? count : 1;
}

static bool is_same(const ws_cpuset_t *one, const ws_cpuset_t *other)
{
  return memcmp(one, other, sizeof(*one)) == 0;
}

/// @return whether every CPU of @p part is in @p whole
static bool holds(const ws_cpuset_t *whole, const ws_cpuset_t *part)
{
  for (size_t i = 0; i < WS_CPUSET_MAX / WS_LONG_BITS; i++)
    if (part->mask[i] & ~whole->mask[i])
      return false;
  return true;
}

/// Linux has no compare-and-swap for affinities: what an operator sets in the middle of a change is
/// overwritten, and may equal the narrow mask. But an operator who sets all threads of the process (taskset
/// -a) sets two that are never confined, too.
/// The two are the thread `beside` and the process's first one. @param now  out: the CPUs of `beside`
/// @return whether `beside` has been given other CPUs since the last call, and the first one has the same
static bool all_were_set(ws_confine_t *confine, ws_cpuset_t *now)
{
  ws_cpuset_t leader;
  if (!confine->beside || ws_os_thread_cpus(confine->beside, now) < 0 || is_same(now, &confine->beside_had))
    return false;
  confine->beside_had = *now;
  return ws_os_thread_cpus(getpid(), &leader) == 0 && is_same(now, &leader);
}

/// The thread is not confined: note the CPUs that it has, @p has. If all threads were given others, and this
/// one has missed that, it gets them, too.
static void note_had(ws_confine_t *confine, int32_t tid, ws_cpuset_t *has)
{
  ws_cpuset_t all;
  if (all_were_set(confine, &all) && is_same(has, &confine->had) && ws_os_allow(tid, &all) == 0)
    *has = all;
  if (is_same(has, &confine->had))
    return;
  confine->widens_by = WS_WIDENS_UNKNOWN;
  confine->had = *has;
}

/// @param narrow  out: the CPUs of the thread while it is not confined, without @p cpu
/// @return false = none is left, its CPUs cannot be read, or they were changed while it was confined
static bool plan(ws_confine_t *confine, int32_t tid, uint32_t cpu, ws_cpuset_t *narrow)
{
  static const ws_cpuset_t none;
  ws_cpuset_t has;
  if (ws_os_thread_cpus(tid, &has) < 0 || (confine->on && !is_same(&has, &confine->narrow)))
    return false; // it was changed from elsewhere since
  if (!confine->on)
    note_had(confine, tid, &has);
  *narrow = confine->had;
  if (cpu < WS_CPUSET_MAX)
    narrow->mask[cpu / WS_LONG_BITS] &= ~(1ul << (cpu % WS_LONG_BITS));
  return !is_same(narrow, &none);
}

/// The caller has other CPUs than it was confined to, @p seen. The kernel keeps the narrow mask, and applies
/// it to each later cpuset. So the caller asks for that mask again. @return whether it gets @p seen: a cpuset
/// was changed. Else its affinity was, and is @p seen again
static bool follows_cpuset(const ws_confine_t *confine, const ws_cpuset_t *seen)
{
  ws_cpuset_t now;
  if (ws_os_allow(0, &confine->narrow) < 0) { // the cpuset has none of them: the caller has all of it
    memset(&now, 0xff, sizeof(now));
    ws_os_allow(0, &now);
  }
  return ws_os_thread_cpus(0, &now) == 0 && (is_same(&now, seen) || ws_os_allow(0, seen) < 0);
}

/// If only a cpuset restricted the thread before, the thread asks for all CPUs and gets those of the cpuset:
/// since Linux 6.2 a thread that asked for fewer would not follow a cpuset that grows. Otherwise (taskset,
/// isolcpus) it asks for the CPUs that it had. The thread itself finds out which of the two holds, once for
/// each mask, by asking for all CPUs for a moment. Another thread must not do that: it could be stopped in
/// that moment, for long.
/// @return false = the thread itself has to find out who changed its CPUs since
static bool widen(ws_confine_t *confine, int32_t tid)
{
  ws_cpuset_t all, seen;
  if (ws_os_thread_cpus(tid, &seen) == 0 && !is_same(&seen, &confine->narrow)
      && (tid != 0 || !follows_cpuset(confine, &seen)))
    return tid == 0;
  if (all_were_set(confine, &seen)) {
    confine->had = seen;
    confine->widens_by = WS_WIDENS_UNKNOWN;
  }
  memset(&all, 0xff, sizeof(all));
  if (confine->widens_by == WS_WIDENS_ALL && ws_os_allow(tid, &all) == 0)
    return true;
  const bool finds_out = confine->widens_by == WS_WIDENS_UNKNOWN && tid == 0;
  if (finds_out && ws_os_allow(tid, &all) == 0 && ws_os_thread_cpus(tid, &seen) == 0) {
    confine->widens_by = is_same(&seen, &confine->had) ? WS_WIDENS_ALL : WS_WIDENS_HAD;
    if (confine->widens_by == WS_WIDENS_ALL || !holds(&seen, &confine->had))
      return true; // as before; or CPUs were taken away from elsewhere since
  }
  ws_os_allow(tid, &confine->had);
  return true;
}

/// The masks are used by the thread itself, by the one that wakes it, and by the one that releases it early.
/// None waits. @return false = another thread uses them, or the thread is never confined
static bool lock(ws_confine_t *confine)
{
  uint32_t free = 0;
  return confine->may && ws_cas_acq_rel(&confine->busy, &free, 1); // [edge CONFINE acquire] the masks
}

bool ws_os_confine(ws_confine_t *confine, int32_t tid, int32_t beside, uint32_t cpu)
{
  ws_cpuset_t narrow;
  if (!lock(confine))
    return false;
  if (!confine->beside && beside && ws_os_thread_cpus(beside, &confine->beside_had) == 0)
    confine->beside = beside;
  const bool is_confined = plan(confine, tid, cpu, &narrow) && ws_os_allow(tid, &narrow) == 0;
  if (is_confined) {
    confine->narrow = narrow;
    confine->on = true;
  }
  ws_store_release(&confine->busy, 0); // [edge CONFINE release] the masks
  return is_confined;
}

void ws_os_unconfine(ws_confine_t *confine, int32_t tid)
{
  if (!lock(confine))
    return;
  if (confine->on)
    confine->on = !widen(confine, tid);
  ws_store_release(&confine->busy, 0); // [edge CONFINE release] the masks
}

// Quota.

#define PATH_BYTES 4096

/// Room for /proc/self/cgroup: a line for each of a dozen hierarchies. And for cpu.stat.
#define TEXT_BYTES 16384

/// Read the file @p name of a group.
static bool read_of(const char *directory, const char *name, char *text, size_t bytes)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof(path), "%s/%s", directory, name);
  return ws_os_read(path, text, bytes);
}

/// @return CPUs' worth of time that one group grants; UINT32_MAX = it has no limit
static uint32_t quota_of(const char *directory, bool is_v2)
{
  char text[128];
  long long quota_us = 0, period_us = 0;
  if (!read_of(directory, is_v2 ? "cpu.max" : "cpu.cfs_quota_us", text, sizeof(text)))
    return UINT32_MAX;
  const bool is_limited = sscanf(text, "%lld %lld", &quota_us, &period_us) > 0; // else "max"
  if (!is_v2 && read_of(directory, "cpu.cfs_period_us", text, sizeof(text)))
    period_us = atoll(text);
  if (!is_limited || quota_us <= 0 || period_us <= 0)
    return UINT32_MAX;
  const long long cpus = quota_us / period_us + (quota_us % period_us != 0);
  return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

/// @return the periods in which one group was stopped (ws_grants_t); 0 = there is no such number
static uint64_t throttled_in(const char *directory)
{
  char text[1024];
  const char *line =
      read_of(directory, "cpu.stat", text, sizeof(text)) ? strstr(text, "nr_throttled ") : NULL;
  return line ? strtoull(line + strlen("nr_throttled "), NULL, 10) : 0;
}

/// Without a cgroup namespace a container has the tree from one of the groups in the path on.
/// @return @p group from its first part that is there; @p group if none is
static char *seen_part(const char *root, char *group)
{
  char directory[PATH_BYTES - 64], text[16];
  for (char *part = strchr(group, '/'); part; part = strchr(part + 1, '/')) {
    snprintf(directory, sizeof(directory), "%s%.3000s", root, part);
    if (read_of(directory, "cgroup.procs", text, sizeof(text)))
      return part;
  }
  return group;
}

/// Take @p group and every group above it into @p grants: the least CPUs, the sum of throttled. Shortens
/// @p group.
static void look_up(const char *root, char *group, bool is_v2, ws_grants_t *grants)
{
  bool is_root;
  group = seen_part(root, group);
  do {
    char directory[PATH_BYTES - 64];
    is_root = *group != '/' || !group[1];
    snprintf(directory, sizeof(directory), "%s%.3000s", root, is_root ? "" : group);
    const uint32_t cpus = quota_of(directory, is_v2);
    grants->cpus = cpus < grants->cpus ? cpus : grants->cpus;
    grants->throttled += throttled_in(directory);
    if (!is_root)
      *strrchr(group, '/') = '\0';
  } while (!is_root);
}

/// @return whether a list like "cpuacct,cpu" has cpu in it
static bool names_cpu(const char *list)
{
  char text[256];
  snprintf(text, sizeof(text), ",%s,", list);
  return strstr(text, ",cpu,");
}

ws_grants_t ws_os_grants(void)
{
  ws_grants_t grants = {.cpus = UINT32_MAX};
  char text[TEXT_BYTES];
  if (!ws_os_read("/proc/self/cgroup", text, sizeof(text)))
    return grants;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *controllers = strchr(line, ':'); // "<id>:<controllers>:<path>"
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *group++ = '\0';
    controllers++;
    if (!*controllers)
      look_up("/sys/fs/cgroup", group, true, &grants);
    else if (names_cpu(controllers)) {
      char mount[128], stat[16]; // it has the name of its controllers; most systems have a link cpu, too
      snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%.64s", controllers);
      const bool has_long_name = read_of(mount, "cpu.stat", stat, sizeof(stat));
      look_up(has_long_name ? mount : "/sys/fs/cgroup/cpu", group, false, &grants);
    }
  }
  return grants;
}
