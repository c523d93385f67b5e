// SPDX-License-Identifier: BSD-3-Clause
/// @file tbb_sort.h
/// oneTBB's parallel_sort, for comparison. Linked only where oneTBB was found (HAVE_TBB).
#ifndef TBB_SORT_H
#define TBB_SORT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// @brief Sort @p count numbers on @p threads threads, the caller included.
void tbb_sort(int *number, size_t count, int threads);

#ifdef __cplusplus
}
#endif
#endif
