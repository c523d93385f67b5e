// SPDX-License-Identifier: BSD-3-Clause
// ws-pi: the time of one parallel reduction, pi by numerical integration, with one library.
// Use: ws-pi how=NAME [key=value]...   a JSON object
//      ws-pi --help                    names all keys
// The answer has figures, or "error". `python -m nrbench run --only pi` runs it in rounds and compares.
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "pi_backend.h"
#include "pi_sum.h"
#include "report.h"
#include "words.h"

#define LINE_CHARS_MAX 4096
#define PI 3.14159265358979323846
#define PI_ERROR_MAX 1e-10

static const char usage[] =
    "usage: ws-pi how=NAME [key=value]...\n"
    "keys:  how=ws|onetbb|openmp-gcc|openmp-llvm   the library; its module lies beside this program\n"
    "       pin_step=N      every N-th CPU gets a thread, which stays there; 0 = threads float; ws only\n"
    "       intervals=N     of the integration\n"
    "       warm=N          reductions before the one that is timed\n"
    "       workers=N       threads beside the caller (default: CPUs - 1)\n";

typedef struct {
  uint64_t intervals;
  uint32_t pin_step, warm, workers;
  char how[64];
} request_t;

static const word_key_t keys[] = {
    {"how", WORD_TEXT(request_t, how)},
    {"pin_step", WORD_NUMBER(request_t, pin_step, 1023)},
    {"intervals", WORD_NUMBER(request_t, intervals, UINT64_C(1) << 40)},
    {"warm", WORD_NUMBER(request_t, warm, 1000000)},
    {"workers", WORD_NUMBER(request_t, workers, 1023)},
};

static bool parse_word(const char *key, const char *value, void *target)
{
  return word_parse(keys, sizeof keys / sizeof keys[0], key, value, target);
}

/// @return the backend; NULL with an error reported
static const pi_backend_t *load(report_t *report, const char *how)
{
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  char *const name = strrchr(path, '/');
  const size_t room = name ? sizeof path - (size_t)(name - path) : 0;
  if (!name || strchr(how, '/') || (size_t)snprintf(name, room, "/libpi_%s.so", how) >= room) {
    report_error(report, "how=%s: no such library", how);
    return NULL;
  }
  if (access(path, R_OK) != 0) {
    report_error(report, "how=%s: not built", how);
    return NULL;
  }
  void *const module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const pi_backend_t *const backend = module ? dlsym(module, "pi_backend") : NULL;
  if (!backend)
    report_error(report, "how=%s: %s", how, dlerror());
  return backend;
}

static void measure(report_t *report, const request_t *request, const pi_backend_t *backend, void *pool)
{
  const pi_integral_t integral = {request->intervals, pi_sum};
  const double width = 1.0 / (double)request->intervals;
  for (uint32_t i = 0; i < request->warm; i++)
    backend->reduce(pool, &integral);
  const uint64_t begin_ns = clock_now_ns();
  const double pi = width * backend->reduce(pool, &integral);
  const uint64_t end_ns = clock_now_ns();
  if (!(fabs(pi - PI) < PI_ERROR_MAX)) {
    report_error(report, "pi came out as %.15g", pi);
    return;
  }
  report_text(report, "version", backend->version);
  report_count(report, "threads", request->workers + 1);
  report_count(report, "intervals", request->intervals);
  report_count(report, "warm", request->warm);
  report_number(report, "pi_error", fabs(pi - PI));
  report_number(report, "ns", (double)(end_ns - begin_ns));
}

static void answer(report_t *report, const request_t *request)
{
  const pi_backend_t *const backend = load(report, request->how);
  if (!backend)
    return;
  if (request->pin_step > 0 && !backend->can_pin) {
    report_error(report, "how=%s: cannot be pinned", request->how);
    return;
  }
  void *const pool = backend->create(&(pi_settings_t){request->workers, request->pin_step});
  if (!pool) {
    report_error(report, "how=%s: the pool could not be created", request->how);
    return;
  }
  measure(report, request, backend, pool);
  backend->destroy(pool);
}

int main(int argc, char **argv)
{
  static report_t report;
  char line[LINE_CHARS_MAX] = "", error[512];
  cpu_set_t mask;
  const int status = words_usage(argc, argv, true, usage);
  if (status >= 0)
    return status;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  request_t request = {
      .how = "ws", .intervals = 20000000, .warm = 2, .workers = (uint32_t)CPU_COUNT(&mask) - 1};
  words_join(argc, argv, line, sizeof line);
  if (!words_parse(line, parse_word, &request, error, sizeof error))
    report_error(&report, "%s", error);
  else if (request.intervals < 1000000)
    report_error(&report, "request: intervals=N is at least 1000000, so that the result can be checked");
  else
    answer(&report, &request);
  printf("{%.*s}\n", (int)report.length, report.text);
  return strncmp(report.text, "\"error\"", 7) == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
