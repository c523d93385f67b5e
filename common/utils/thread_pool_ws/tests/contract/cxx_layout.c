// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_layout.c
/// Sizes and alignments as C sees them, for cxx.cpp to compare with.
#include <stddef.h>
#include <stdint.h>

#include "thread-pool.h"
#if !defined(CONTRACT_SHAPE_A)
#include "task_ans.h"
#endif

size_t contract_layout(uint32_t i);

size_t contract_layout(uint32_t i)
{
  static const size_t layout[] = {
    sizeof(tpool_t),
    _Alignof(tpool_t),
#if !defined(CONTRACT_SHAPE_A)
    sizeof(task_ans_t),
    _Alignof(task_ans_t),
    sizeof(thread_info_tm_t),
    offsetof(tpool_t, len_thr),
#endif
  };
  return i < sizeof(layout) / sizeof(layout[0]) ? layout[i] : 0;
}
