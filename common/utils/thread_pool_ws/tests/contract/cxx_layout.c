// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_layout.c
/// cxx_layout.h.
#include "thread-pool.h"
#if !defined(CONTRACT_SHAPE_A)
#include "task_ans.h"
#endif
#include "cxx_layout.h"

size_t contract_layout(uint32_t i)
{
  static const size_t layout[] = {CONTRACT_LAYOUT(_Alignof)};
  return i < sizeof(layout) / sizeof(layout[0]) ? layout[i] : 0;
}
