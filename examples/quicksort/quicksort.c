// SPDX-License-Identifier: BSD-3-Clause
/// @file quicksort.c
/// quicksort.h. The recursion on the pool is the textbook's: a range is split in two, and both parts are
/// added as jobs. When the buffer is full, tpool_add() sorts the part itself: jobs never wait for each other.
/// With a depth counter the buffer has room for each job: of a tree of that depth at most 2^depth jobs can be
/// queued, because a job is queued after its parent has begun. That also suits pools whose add blocks.
#include "quicksort.h"

#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

/// Ranges up to this size are sorted by insertion.
#define INSERTION_MAX 24u
/// Ranges up to this size are sorted in one job: some hundred microseconds of work.
#define JOB_MAX 10000u

static void swap(int *a, int *b)
{
  const int kept = *a;
  *a = *b;
  *b = kept;
}

static void insertion_sort(int *number, size_t count)
{
  for (size_t i = 1; i < count; i++) {
    const int moved = number[i];
    size_t hole = i;
    for (; hole > 0 && number[hole - 1] > moved; hole--)
      number[hole] = number[hole - 1];
    number[hole] = moved;
  }
}

static int median_of_three(int a, int b, int c)
{
  if (a > b)
    swap(&a, &b);
  return c <= a ? a : c >= b ? b : c;
}

/// Split the numbers in two parts, neither of which is empty: none of the first is greater than one of the
/// second. Equal numbers go to both parts, so that many equal numbers are split evenly. Hoare's partition.
/// @return the size of the first part
static size_t split(int *number, size_t count)
{
  const int pivot = median_of_three(number[0], number[count / 2], number[count - 1]);
  size_t left = 0, right = count - 1;
  for (;;) {
    while (number[left] < pivot)
      left++;
    while (number[right] > pivot)
      right--;
    if (left >= right)
      return left > 0 ? left : 1; // 0: the pivot is the first number, and the only one of its size
    swap(&number[left++], &number[right--]);
  }
}

void quicksort(int *number, size_t count)
{
  while (count > INSERTION_MAX) {
    const size_t first = split(number, count);
    const size_t second = count - first;
    if (first < second) { // recursion for the smaller part only: at most log2(count) levels
      quicksort(number, first);
      number += first;
      count = second;
    } else {
      quicksort(number + first, second);
      count = first;
    }
  }
  insertion_sort(number, count);
}

/// One sort.
typedef struct {
  tpool *pool;
  unsigned depth_max; ///< a job that is so deep adds none
  atomic_size_t unsorted; ///< numbers
  sem_t over;
} sort_t;

/// The argument of a job, which frees it.
typedef struct {
  sort_t *sort;
  int *number;
  size_t count;
  unsigned depth; ///< jobs above it
} range_t;

static void sort_serially(sort_t *sort, int *number, size_t count)
{
  quicksort(number, count);
  if (atomic_fetch_sub(&sort->unsorted, count) == count)
    sem_post(&sort->over);
}

static void sort_range(void *range_arg);

static void add(sort_t *sort, int *number, size_t count, unsigned depth)
{
  range_t *range = malloc(sizeof *range);
  if (range) {
    *range = (range_t){sort, number, count, depth};
    const bool counted = sort->depth_max < UINT_MAX;
    const int error = (counted ? tpool_try_add : tpool_add)(sort->pool, sort_range, range);
    if (error == 0)
      return;
    if (error == -EAGAIN)
      abort(); // the counter has let too many jobs in
    free(range);
  }
  sort_serially(sort, number, count); // no memory, or the pool has ended
}

/// The job.
static void sort_range(void *range_arg)
{
  const range_t range = *(range_t *)range_arg;
  free(range_arg);
  if (range.count <= JOB_MAX || range.depth == range.sort->depth_max) {
    sort_serially(range.sort, range.number, range.count);
    return;
  }
  const size_t first = split(range.number, range.count);
  add(range.sort, range.number, first, range.depth + 1);
  add(range.sort, range.number + first, range.count - first, range.depth + 1);
}

void quicksort_on(tpool *pool, int *number, size_t count)
{
  quicksort_to_depth(pool, number, count, UINT_MAX);
}

void quicksort_to_depth(tpool *pool, int *number, size_t count, unsigned depth_max)
{
  if (count == 0)
    return;
  sort_t sort = {.pool = pool, .depth_max = depth_max, .unsorted = count};
  sem_init(&sort.over, 0, 0);
  add(&sort, number, count, 0);
  while (sem_wait(&sort.over) != 0) // a signal
    ;
  sem_destroy(&sort.over);
}
