// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_layout.h
/// Sizes and alignments of what the host's C and C++ files pass each other. After the pool's headers.
#ifndef CONTRACT_CXX_LAYOUT_H
#define CONTRACT_CXX_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#if defined(CONTRACT_SHAPE_A)
#define CONTRACT_LAYOUT(align) sizeof(tpool_t), align(tpool_t)
#else
#define CONTRACT_LAYOUT(align)                                                                               \
  sizeof(tpool_t), align(tpool_t), sizeof(task_ans_t), align(task_ans_t), sizeof(thread_info_tm_t),          \
      offsetof(tpool_t, len_thr)
#endif

/// @return a value as C has it; 0 after the last
size_t contract_layout(uint32_t i);

#endif
