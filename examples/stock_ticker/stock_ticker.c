// SPDX-License-Identifier: BSD-3-Clause
/// @file stock_ticker.c
/// A table of stock quotes: one task for each symbol asks a server, and fills the symbol's structure. The
/// tasks mostly wait, so more threads than CPUs pay.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "quote.h"
#include "ws_sched.h"

#define THREADS_MAX 64
#define SWEEP_TO 11
#define REPEAT_MAX 1000

static const char usage[] =
    "usage: stock_ticker --port P [option...] [symbol...]\n"
    "  --threads N     threads that ask, this one included, 1 .. 64 (default: 4)\n"
    "  --sweep         measure 1 to 11 threads\n"
    "  --repeat R      ask R times for each symbol (default: 1)\n"
    "  --timeout-ms T  for each request, 1 .. 60000 (default: 2000)\n"
    "  --unmarked      do not tell the pool that tasks wait (ws_blocking_begin)\n"
    "  --json          print one line of JSON for each number of threads, and no table\n"
    "exit status: 0, 1 = a quote could not be had, 2 = the program could not run\n";

static const char *const all_symbols[] = {"ALDR", "ASHE", "BECH", "BIRC", "CEDR", "CYPR", "ELMS", "FIRS",
                                          "HAZL", "HOLL", "JUNI", "LARC", "LIME", "MAPL", "OAKS", "PINE",
                                          "PLUM", "POPL", "ROWN", "SPRC", "WILO", "YEWS"};

typedef struct {
  uint64_t port, threads, repeat, timeout_ms;
  int unmarked, sweep, json;
  const char *const *symbol;
  uint32_t symbols;
} options_t;

/// All that is asked for in one go.
typedef struct {
  quote_t *quote;
  ws_sched_task_t *task;
  uint32_t count;
} ticker_t;

typedef struct {
  double wall_ms, cpu_ms;
  uint32_t errors;
} result_t;

static void ask(void *quote)
{
  quote_get(quote);
}

/// @return 0, or a negative error number
static int run_tasks(ticker_t *ticker, uint32_t threads)
{
  ws_sched_t *sched = sched_init(threads - 1, ticker->count); // and this thread
  if (!sched)
    return -errno;
  int error = 0;
  for (uint32_t i = 0; i < ticker->count && !error; i++)
    error = sched_post(sched, &ticker->task[i]);
  if (!error)
    error = sched_execute(sched);
  sched_fini(sched);
  return error;
}

static double now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double cpu_ms(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3
         + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/// @return 0, or a negative error number
static int get_all(ticker_t *ticker, uint32_t threads, result_t *result)
{
  const double begin_ms = now_ms(), begin_cpu_ms = cpu_ms();
  int error = 0;
  if (threads > 1)
    error = run_tasks(ticker, threads);
  else
    for (uint32_t i = 0; i < ticker->count; i++)
      ask(&ticker->quote[i]);
  *result = (result_t){now_ms() - begin_ms, cpu_ms() - begin_cpu_ms, 0};
  for (uint32_t i = 0; i < ticker->count; i++)
    result->errors += ticker->quote[i].error[0] != '\0';
  return error;
}

static void print_quotes(const ticker_t *ticker, uint32_t symbols)
{
  printf("%-8s %-*s %14s %10s %8s\n", "symbol", QUOTE_COMPANY_MAX, "company", "cap, millions", "price",
         "change");
  for (uint32_t i = 0; i < symbols; i++) {
    const quote_t *quote = &ticker->quote[i];
    if (quote->error[0])
      printf("%-8s %s\n", quote->symbol, quote->error);
    else
      printf("%-8s %-*s %14.1f %10.2f %+7.2f%%\n", quote->symbol, QUOTE_COMPANY_MAX, quote->company,
             quote->cap_millions, quote->price, quote->change_percent);
  }
}

static void print_result(const options_t *options, const ticker_t *ticker, uint32_t threads, result_t result)
{
  const double per_second = ticker->count / result.wall_ms * 1e3;
  if (options->json)
    printf("{\"threads\": %u, \"symbols\": %u, \"wall_ms\": %.3f, \"cpu_ms\": %.3f, \"symbols_per_s\": %.1f, "
           "\"errors\": %u, \"marked\": %s}\n",
           threads, ticker->count, result.wall_ms, result.cpu_ms, per_second, result.errors,
           options->unmarked ? "false" : "true");
  else
    printf("%2u thread%s %u symbols, %u errors, %.0f ms, %.0f symbols/s, %.1f ms of CPU time\n", threads,
           threads == 1 ? ": " : "s:", ticker->count, result.errors, result.wall_ms, per_second,
           result.cpu_ms);
}

static bool prepare(const options_t *options, ticker_t *ticker)
{
  ticker->count = options->symbols * (uint32_t)options->repeat;
  ticker->quote = calloc(ticker->count, sizeof *ticker->quote);
  ticker->task = calloc(ticker->count, sizeof *ticker->task);
  for (uint32_t i = 0; i < ticker->count && ticker->quote && ticker->task; i++) {
    quote_t *quote = &ticker->quote[i];
    *quote = (quote_t){.port = (uint16_t)options->port,
                       .timeout_ms = (uint32_t)options->timeout_ms,
                       .marked = !options->unmarked};
    strcpy(quote->symbol, options->symbol[i % options->symbols]);
    sched_task_init(&ticker->task[i], ask, quote, WS_PRIORITY_NORMAL);
  }
  return ticker->quote && ticker->task;
}

static bool parse(const char *name, const char *text, uint64_t max, uint64_t *value)
{
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *value >= 1 && *value <= max)
    return true;
  fprintf(stderr, "stock_ticker: --%s %s: expected a number from 1 to %llu\n", name, text,
          (unsigned long long)max);
  return false;
}

static bool are_symbols(const options_t *options)
{
  for (uint32_t i = 0; i < options->symbols; i++) {
    const char *symbol = options->symbol[i];
    const size_t length = strspn(symbol, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.");
    if (length == 0 || length > QUOTE_SYMBOL_MAX || symbol[length] != '\0') {
      fprintf(stderr, "stock_ticker: symbol \"%s\": expected 1 to %d of A-Z, 0-9 and .\n", symbol,
              QUOTE_SYMBOL_MAX);
      return false;
    }
  }
  return true;
}

static bool parse_options(int argc, char **argv, options_t *options)
{
  const struct option known[] = {
      {"port", required_argument, NULL, 'p'},           {"threads", required_argument, NULL, 't'},
      {"repeat", required_argument, NULL, 'r'},         {"timeout-ms", required_argument, NULL, 'm'},
      {"unmarked", no_argument, &options->unmarked, 1}, {"sweep", no_argument, &options->sweep, 1},
      {"json", no_argument, &options->json, 1},         {NULL, 0, NULL, 0}};
  bool good = true;
  for (int option; good && (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
    good = option == 'p'   ? parse("port", optarg, UINT16_MAX, &options->port)
           : option == 't' ? parse("threads", optarg, THREADS_MAX, &options->threads)
           : option == 'r' ? parse("repeat", optarg, REPEAT_MAX, &options->repeat)
           : option == 'm' ? parse("timeout-ms", optarg, 60000, &options->timeout_ms)
                           : option != '?';
  if (good && options->port == 0)
    fprintf(stderr, "stock_ticker: --port is missing: server.py prints one\n");
  if (!good || options->port == 0)
    fputs(usage, stderr);
  if (optind < argc) {
    options->symbol = (const char *const *)argv + optind;
    options->symbols = (uint32_t)(argc - optind);
  }
  return good && options->port != 0 && are_symbols(options);
}

int main(int argc, char **argv)
{
  options_t options = {.threads = 4,
                       .repeat = 1,
                       .timeout_ms = 2000,
                       .symbol = all_symbols,
                       .symbols = sizeof all_symbols / sizeof *all_symbols};
  ticker_t ticker = {0};
  if (!parse_options(argc, argv, &options))
    return 2;
  if (!prepare(&options, &ticker)) {
    perror("stock_ticker");
    return 2;
  }
  uint32_t errors = 0;
  const uint32_t first = options.sweep ? 1 : (uint32_t)options.threads;
  const uint32_t last = options.sweep ? SWEEP_TO : first;
  for (uint32_t threads = first; threads <= last; threads++) {
    result_t result;
    const int error = get_all(&ticker, threads, &result);
    if (error) {
      fprintf(stderr, "stock_ticker: %u threads: %s\n", threads, strerror(-error));
      return 2;
    }
    if (!options.json && threads == first)
      print_quotes(&ticker, options.symbols);
    print_result(&options, &ticker, threads, result);
    errors += result.errors;
  }
  free(ticker.quote);
  free(ticker.task);
  return errors ? 1 : 0;
}
