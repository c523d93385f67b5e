// SPDX-License-Identifier: BSD-3-Clause
/// @file merge_sort.c
/// Sorts an array with two tasks: each sorts a half, then the first of them is used again and merges.
///     merge_sort [count [seed]]
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ws_sched.h"

#define COUNT_MAX 100000000u

/// What a task works on. Results lie where the caller wants them: here in the arrays themselves.
typedef struct {
  uint64_t *number;
  size_t count;
} half_t;

typedef struct {
  half_t half[2];
  uint64_t *sorted;
} merge_t;

static int compare(const void *left_arg, const void *right_arg)
{
  const uint64_t left = *(const uint64_t *)left_arg, right = *(const uint64_t *)right_arg;
  return (left > right) - (left < right);
}

static void sort_half(void *half_arg)
{
  half_t *half = half_arg;
  qsort(half->number, half->count, sizeof *half->number, compare);
}

static void merge_halves(void *merge_arg)
{
  merge_t *merge = merge_arg;
  const half_t *left = &merge->half[0], *right = &merge->half[1];
  size_t l = 0, r = 0;
  for (size_t i = 0; i < left->count + right->count; i++) {
    const bool from_left = r == right->count || (l < left->count && left->number[l] <= right->number[r]);
    merge->sorted[i] = from_left ? left->number[l++] : right->number[r++];
  }
}

/// @return 0, or the error of the first call that failed
static int merge_sort(ws_sched_t *sched, merge_t *merge)
{
  ws_sched_task_t task[2];
  int error = 0;
  for (int i = 0; i < 2 && !error; i++) {
    error = sched_task_init(&task[i], sort_half, &merge->half[i], WS_PRIORITY_NORMAL);
    if (!error)
      error = sched_post(sched, &task[i]); // a worker begins now
  }
  if (!error)
    error = sched_execute(sched); // this thread helps
  if (!error)
    error = sched_task_init(&task[0], merge_halves, merge, WS_PRIORITY_NORMAL); // done, so free again
  if (!error)
    error = sched_post(sched, &task[0]);
  return error ? error : sched_execute(sched);
}

static void fill(uint64_t *number, size_t count, uint64_t seed)
{
  for (size_t i = 0; i < count; i++) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); // Knuth's MMIX
    number[i] = seed >> 33;
  }
}

/// @return whether @p sorted is what the C library makes of @p number
static bool is_right(const uint64_t *sorted, uint64_t *number, size_t count)
{
  qsort(number, count, sizeof *number, compare);
  return memcmp(sorted, number, count * sizeof *number) == 0;
}

static bool parse(const char *name, const char *text, uint64_t max, uint64_t *value)
{
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *value <= max)
    return true;
  fprintf(stderr, "merge_sort: %s \"%s\": expected a number from 0 to %" PRIu64 "\n", name, text, max);
  return false;
}

int main(int argc, char **argv)
{
  uint64_t count = 1000000, seed = 1;
  if ((argc > 1 && !parse("count", argv[1], COUNT_MAX, &count))
      || (argc > 2 && !parse("seed", argv[2], UINT64_MAX, &seed)))
    return 2;
  uint64_t *number = calloc(3 * count + 1, sizeof *number); // to sort, sorted, and to check
  ws_sched_t *sched = sched_init(1, 2); // one worker and this thread; two tasks
  if (!number || !sched) {
    perror("merge_sort");
    return 2;
  }
  uint64_t *sorted = number + count, *check = sorted + count;
  fill(number, count, seed);
  memcpy(check, number, count * sizeof *number);
  merge_t merge = {{{number, count / 2}, {number + count / 2, count - count / 2}}, sorted};
  const int error = merge_sort(sched, &merge);
  sched_fini(sched);
  const bool right = !error && is_right(sorted, check, count);
  printf("%" PRIu64 " numbers: %s\n", count, error ? strerror(-error) : right ? "sorted" : "NOT SORTED");
  free(number);
  return right ? 0 : 1;
}
