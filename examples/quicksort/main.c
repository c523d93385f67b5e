// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// Sorts the same numbers with each contestant, checks the result, prints the times. Exit status 0: all
/// results are sorted and hold the numbers that were made; 1: one is not, or there is no memory; 2: invalid
/// option.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "numbers.h"
#include "options.h"
#include "quicksort.h"
#include "tpool.h"
#ifdef HAVE_TBB
#include "tbb_sort.h"
#endif

/// What all contestants sort.
typedef struct {
  options_t options;
  tpool *pool;
  int *number;
  content_t content;
} contest_t;

typedef struct {
  const char *name;
  void (*sort)(contest_t *contest);
  double *wall_s, *cpu_s; ///< [round]
} contestant_t;

static void sort_on_tpool(contest_t *contest)
{
  quicksort_on(contest->pool, contest->number, contest->options.count);
}

/// As many levels as the buffer holds.
static void sort_by_depth(contest_t *contest)
{
  unsigned depth = 0;
  while (2 << depth <= contest->options.buffer)
    depth++;
  quicksort_to_depth(contest->pool, contest->number, contest->options.count, depth);
}

static void sort_on_one_thread(contest_t *contest)
{
  quicksort(contest->number, contest->options.count);
}

static int compare_ints(const void *a_arg, const void *b_arg)
{
  const int a = *(const int *)a_arg, b = *(const int *)b_arg;
  return (a > b) - (a < b);
}

static void sort_by_libc(contest_t *contest)
{
  qsort(contest->number, contest->options.count, sizeof(int), compare_ints);
}

#ifdef HAVE_TBB
static void sort_by_tbb(contest_t *contest)
{
  tbb_sort(contest->number, contest->options.count, contest->options.threads);
}
#endif

static contestant_t contestants[] = {{.name = "tpool", .sort = sort_on_tpool},
                                     {.name = "tpool, depth", .sort = sort_by_depth},
                                     {.name = "one thread", .sort = sort_on_one_thread},
                                     {.name = "qsort", .sort = sort_by_libc},
#ifdef HAVE_TBB
                                     {.name = "parallel_sort", .sort = sort_by_tbb}
#endif
};

static double wall_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/// Of all threads of the process.
static double cpu_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/// @return whether the result is right
static bool play(contest_t *contest, contestant_t *contestant, int round)
{
  const options_t *options = &contest->options;
  numbers_make(contest->number, options->count, options->seed + (uint64_t)round);
  const content_t before = numbers_content(contest->number, options->count);
  const double wall_before_s = wall_s(), cpu_before_s = cpu_s();
  contestant->sort(contest);
  contestant->wall_s[round] = wall_s() - wall_before_s;
  contestant->cpu_s[round] = cpu_s() - cpu_before_s;
  const bool sorted = numbers_sorted(contest->number, options->count);
  const bool same = numbers_same(before, numbers_content(contest->number, options->count));
  if (!sorted || !same)
    fprintf(stderr, "quicksort: round %d: the result of %s %s\n", round, contestant->name,
            sorted ? "does not hold the numbers that were made" : "is not sorted");
  return sorted && same;
}

static int compare_doubles(const void *a_arg, const void *b_arg)
{
  const double a = *(const double *)a_arg, b = *(const double *)b_arg;
  return (a > b) - (a < b);
}

static double median(const double *value, int count)
{
  double sorted[ROUNDS_MAX];
  memcpy(sorted, value, (size_t)count * sizeof *value);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/// @return the median of the rounds' ratios: the contestant's time / tpool's
static double ratio(const contestant_t *contestant, int rounds)
{
  double each[ROUNDS_MAX];
  for (int round = 0; round < rounds; round++)
    each[round] = contestant->wall_s[round] / contestants[0].wall_s[round];
  return median(each, rounds);
}

static void print_table(const options_t *options, size_t players)
{
  printf("%zu ints, %d threads, buffer %d; %s%d round%s; all results are sorted and complete\n",
         options->count, options->threads, options->buffer, options->rounds > 1 ? "medians of " : "",
         options->rounds, options->rounds > 1 ? "s" : "");
  printf("%-14s %10s %10s %14s\n", "", "wall s", "CPU s", "wall / tpool's");
  for (size_t i = 0; i < players; i++)
    printf("%-14s %10.4f %10.4f %14.2f\n", contestants[i].name,
           median(contestants[i].wall_s, options->rounds), median(contestants[i].cpu_s, options->rounds),
           ratio(&contestants[i], options->rounds));
}

static void print_seconds(const char *name, const double *seconds, int rounds)
{
  printf("\"%s\": [", name);
  for (int round = 0; round < rounds; round++)
    printf("%s%.6f", round > 0 ? ", " : "", seconds[round]);
  printf("]");
}

static void print_json(const options_t *options, size_t players)
{
  printf("{\"n\": %zu, \"threads\": %d, \"buffer\": %d, \"rounds\": %d, \"seed\": %llu, \"contestants\": {",
         options->count, options->threads, options->buffer, options->rounds,
         (unsigned long long)options->seed);
  for (size_t i = 0; i < players; i++) {
    printf("%s\"%s\": {", i > 0 ? ", " : "", contestants[i].name);
    print_seconds("wall_s", contestants[i].wall_s, options->rounds);
    printf(", ");
    print_seconds("cpu_s", contestants[i].cpu_s, options->rounds);
    printf("}");
  }
  printf("}}\n");
}

/// Each contestant sorts once a round. Each round begins with another one. @return whether all results are
/// right
static bool play_all(contest_t *contest, size_t players)
{
  bool right = true;
  for (int round = 0; round < contest->options.rounds; round++)
    for (size_t i = 0; i < players; i++)
      right = play(contest, &contestants[(i + (size_t)round) % players], round) && right;
  return right;
}

/// @return false, with a message: there is no memory, or no thread
static bool prepare(contest_t *contest, size_t players)
{
  const options_t *options = &contest->options;
  contest->number = malloc(options->count * sizeof(int));
  contest->pool = tpool_create(options->threads, options->buffer);
  bool prepared = contest->number && contest->pool;
  if (!contest->number)
    fprintf(stderr, "quicksort: no memory for %zu bytes of numbers\n", options->count * sizeof(int));
  else if (!contest->pool)
    perror("quicksort: tpool_create");
  for (size_t i = 0; i < players && prepared; i++) {
    contestants[i].wall_s = calloc((size_t)options->rounds, sizeof(double));
    contestants[i].cpu_s = calloc((size_t)options->rounds, sizeof(double));
    prepared = contestants[i].wall_s && contestants[i].cpu_s;
  }
  return prepared;
}

int main(int argc, char **argv)
{
  contest_t contest = {.options = options_read(argc, argv)};
  const size_t players = contest.options.compare ? sizeof contestants / sizeof contestants[0] : 1;
  bool right = prepare(&contest, players);
  if (right && (right = play_all(&contest, players)))
    (contest.options.json ? print_json : print_table)(&contest.options, players);
  tpool_destroy(contest.pool);
  for (size_t i = 0; i < players; i++) {
    free(contestants[i].wall_s);
    free(contestants[i].cpu_s);
  }
  free(contest.number);
  return right ? 0 : 1;
}
