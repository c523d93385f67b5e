// SPDX-License-Identifier: BSD-3-Clause
/// @file options.c
/// options.h.
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tpool.h"

static const char help[] =
    "quicksort: sorts random ints by quicksort, whose recursion adds jobs to a tpool\n"
    "  --count N    numbers, 1 to 999999999 (4 bytes each); default 10000000\n"
    "  --full       as --count 999999999: 4 GB\n"
    "  --threads N  threads that sort, 1 to 1024; default: the CPUs that are online\n"
    "  --buffer N   jobs that may be queued, 1 to 1048576; default 50\n"
    "  --compare    also: with a depth counter, one thread, the C library's qsort, and oneTBB's "
    "parallel_sort if it was found\n"
    "  --rounds N   sort N times, each contestant once in each round; 1 to 1000; default 1\n"
    "  --seed N     of the random numbers; default 1\n"
    "  --json       print one line of JSON in place of the table\n";

static long long number(const char *option, const char *text, long long min, long long max)
{
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && value >= min && value <= max)
    return value;
  fprintf(stderr, "quicksort: --%s %s: a whole number from %lld to %lld is needed\n", option, text, min, max);
  exit(2);
}

static int default_threads(void)
{
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return cpus < 1 ? 1 : cpus > TPOOL_THREADS_MAX ? TPOOL_THREADS_MAX : (int)cpus;
}

static void set(options_t *options, const struct option *option)
{
  switch (option->val) {
    case 'n':
      options->count = (size_t)number(option->name, optarg, 1, COUNT_MAX);
      break;
    case 'f':
      options->count = COUNT_MAX;
      break;
    case 't':
      options->threads = (int)number(option->name, optarg, 1, TPOOL_THREADS_MAX);
      break;
    case 'b':
      options->buffer = (int)number(option->name, optarg, 1, TPOOL_BUFFER_MAX);
      break;
    case 'r':
      options->rounds = (int)number(option->name, optarg, 1, ROUNDS_MAX);
      break;
    case 's':
      options->seed = (uint64_t)number(option->name, optarg, 0, INT64_MAX);
      break;
    case 'c':
      options->compare = true;
      break;
    case 'j':
      options->json = true;
      break;
    default:
      fputs(help, stdout);
      exit(0);
  }
}

options_t options_read(int argc, char **argv)
{
  static const struct option known[] = {
      {"count", required_argument, NULL, 'n'},   {"full", no_argument, NULL, 'f'},
      {"threads", required_argument, NULL, 't'}, {"buffer", required_argument, NULL, 'b'},
      {"compare", no_argument, NULL, 'c'},       {"rounds", required_argument, NULL, 'r'},
      {"seed", required_argument, NULL, 's'},    {"json", no_argument, NULL, 'j'},
      {"help", no_argument, NULL, 'h'},          {0}};
  options_t options = {COUNT_DEFAULT, default_threads(), BUFFER_DEFAULT, 1, 1, false, false};
  int index, found;
  while ((found = getopt_long(argc, argv, "", known, &index)) != -1) {
    if (found == '?') { // getopt_long has reported it
      fputs("quicksort: --help lists the options\n", stderr);
      exit(2);
    }
    set(&options, &known[index]);
  }
  if (optind < argc) {
    fprintf(stderr, "quicksort: unknown argument %s; --help lists the options\n", argv[optind]);
    exit(2);
  }
  return options;
}
