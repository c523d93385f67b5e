// SPDX-License-Identifier: BSD-3-Clause
/// @file quicksort.h
/// Quicksort by recursion: on one thread, and on a tpool.
#ifndef QUICKSORT_H
#define QUICKSORT_H

#include <stddef.h>

#include "tpool.h"

/// @brief Sort @p count numbers in the calling thread.
void quicksort(int *number, size_t count);

/// @brief Sort @p count numbers on the threads of @p pool. The caller sleeps meanwhile, so that the pool's
/// threads are all that sort.
void quicksort_on(tpool *pool, int *number, size_t count);

/// @brief The same with a depth counter: a job with @p depth_max jobs above it adds none. The pool's buffer
/// must hold 2^depth_max jobs.
void quicksort_to_depth(tpool *pool, int *number, size_t count, unsigned depth_max);

#endif
