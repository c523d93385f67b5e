// SPDX-License-Identifier: BSD-3-Clause
#include "latch_costs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "latch_ping.h"
#include "usage.h"

#define AT_ONCE 100
#define FIRST_MS 500 // for all fibers to sleep before the first of them is due

/// @return NULL with an error reported
static const ping_t *load_boost(report_t *report)
{
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  char *const name = strrchr(path, '/');
  const size_t room = name ? sizeof path - (size_t)(name - path) : 0;
  if (!name || (size_t)snprintf(name, room, "/liblatch_boost.so") >= room || access(path, R_OK) != 0) {
    report_error(report, "how=cost-boost: not built");
    return NULL;
  }
  void *const module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const ping_t *const ping = module ? dlsym(module, PING_BOOST) : NULL;
  if (!ping)
    report_error(report, "how=cost-boost: %s", dlerror());
  return ping;
}

/// Deadlines at equal distances, in an order drawn by chance.
static void spread(uint64_t *deadline_ns, const cost_request_t *request)
{
  const uint64_t first_ns = clock_now_ns() + FIRST_MS * UINT64_C(1000000);
  const uint64_t spread_ns = (uint64_t)request->spread_ms * 1000000;
  unsigned int random = 1;
  for (uint32_t i = 0; i < request->sleepers; i++) {
    const uint32_t j = (uint32_t)rand_r(&random) % (i + 1);
    deadline_ns[i] = deadline_ns[j];
    deadline_ns[j] = first_ns + spread_ns * i / request->sleepers;
  }
}

/// @return whether it worked
static bool measure_sleep(report_t *report, const ping_t *ping, const cost_request_t *request)
{
  uint64_t *const deadline_ns = calloc(request->sleepers, sizeof *deadline_ns);
  uint64_t *const late_ns = calloc(request->sleepers, sizeof *late_ns);
  bool good = deadline_ns && late_ns;
  if (good) {
    const usage_t begin = usage_now(USAGE_PROCESS);
    spread(deadline_ns, request);
    good = ping->sleep(deadline_ns, late_ns, request->sleepers);
    const usage_t used = usage_since(begin, USAGE_PROCESS);
    report_number(report, "sleep_cpu_ms", used.cpu_s * 1e3);
    report_percentiles(report, "late", late_ns, request->sleepers);
  }
  free(late_ns);
  free(deadline_ns);
  return good;
}

/// @return whether it worked
static bool report_ns(report_t *report, const char *key, double ns)
{
  report_number(report, key, ns);
  return ns > 0;
}

void costs_measure(report_t *report, const cost_request_t *request)
{
  const uint32_t count = request->count, tenth = count / 10;
  const ping_t *const ping = request->of == COST_WS     ? &ping_ws
                             : request->of == COST_JUMP ? &ping_jump
                                                        : load_boost(report);
  if (!ping)
    return;
  report_text(report, "version", ping->version);
  report_count(report, "sleepers", request->sleepers);
  if (!report_ns(report, "yield_ns", ping->yield(count)))
    report_error(report, "the switches failed");
  else if (ping->hand_over && !report_ns(report, "hand_over_ns", ping->hand_over(tenth)))
    report_error(report, "the mutex was not passed on, or there was not enough memory");
  else if (ping->spawn
           && (!report_ns(report, "spawn_ns", ping->spawn(tenth, 1))
               || !report_ns(report, "spawn_many_ns", ping->spawn(tenth, AT_ONCE))))
    report_error(report, "a fiber could not be started");
  else if (ping->sleep && !measure_sleep(report, ping, request))
    report_error(report, "the fibers that sleep could not be started");
}
