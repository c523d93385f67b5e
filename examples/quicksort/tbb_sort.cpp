// SPDX-License-Identifier: BSD-3-Clause
/// @file tbb_sort.cpp
/// tbb_sort.h.
#include "tbb_sort.h"

#include <cstddef>
#include <tbb/global_control.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

void tbb_sort(int *number, size_t count, int threads)
{
  // The arena limits its own threads; the control lets oneTBB have more than the machine's CPUs.
  static tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                                     static_cast<size_t>(threads));
  static tbb::task_arena arena(threads);
  arena.execute([=] { tbb::parallel_sort(number, number + count); });
}
