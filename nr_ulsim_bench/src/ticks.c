// SPDX-License-Identifier: BSD-3-Clause
// ws-ticks: how long fib(19) takes on one CPU, again and again. What interrupts the CPU, such as the timer
// tick, makes some runs longer.
// Use: ws-ticks cpu=N [count=N]   a JSON object
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cpus.h"
#include "memory.h"
#include "report.h"
#include "words.h"
#include "work.h"

#define FIB_N 19u

static const char usage[] = "usage: ws-ticks cpu=N [count=N]\n"
                            "keys:  cpu=N     the CPU to run on\n"
                            "       count=N   runs of fib(19), of some 20 us each\n";

typedef struct {
  uint32_t cpu, count;
} request_t;

static const word_key_t keys[] = {
    {"cpu", WORD_NUMBER(request_t, cpu, 0, CPU_SETSIZE - 1)},
    {"count", WORD_NUMBER(request_t, count, 1, 100000000)},
    {NULL},
};

static void measure(const request_t *request, report_t *report)
{
  uint64_t *const took_ns = allot(request->count, sizeof *took_ns);
  volatile uint64_t sink;
  const uint64_t begin_ns = clock_now_ns();
  uint64_t last_ns = begin_ns;
  for (uint32_t i = 0; i < request->count; i++) {
    sink = fib(FIB_N);
    const uint64_t now_ns = clock_now_ns();
    took_ns[i] = now_ns - last_ns;
    last_ns = now_ns;
  }
  (void)sink;
  report_count(report, "runs", request->count);
  report_number(report, "wall_s", (double)(last_ns - begin_ns) * 1e-9);
  report_percentiles(report, "", took_ns, request->count);
  const double median_s = percentile_us(took_ns, request->count, 50) * 1e-6;
  const double lost = 1 - median_s * request->count / ((double)(last_ns - begin_ns) * 1e-9);
  report_number(report, "lost_percent", lost > 0 ? 100 * lost : 0); // beyond the median
  report_histogram(report, "histogram", took_ns, request->count);
}

int main(int argc, char **argv)
{
  static report_t report;
  request_t request = {.count = 100000};
  words_take(argc, argv, usage, keys, &request);
  if (cpus_pin(0, request.cpu))
    measure(&request, &report);
  else
    report_error(&report, "cannot run on CPU %u: %s", request.cpu, strerror(errno));
  return report_print(&report) ? EXIT_SUCCESS : EXIT_FAILURE;
}
