// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_atomic.c
/// ws_atomic.h.
#include "ws_atomic.h"

#ifdef WS_TSAN
ws_au32_t ws_tsan_fence_word;
#endif
