// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_level.c
/// ws_prewake_state.h.
#include "ws_prewake_state.h"

/// How many times as long a time without trouble may become; after so many of them a fall counts as the first
/// one. A bad minute must not affect the next one.
#define LONGER_MAX 16u

static void set_level(ws_prewake_pool_t *its, uint32_t level)
{
  ws_hint_store(&its->level, level);
  ws_stat_add(&its->level_changes, 1);
}

void ws_level_fall(ws_prewake_pool_t *its, uint64_t now_ns, uint64_t span_ns)
{
  const uint32_t level = ws_hint_load(&its->level);
  const uint64_t last_ns = ws_hint_load(&its->span_ns), clean_ns = ws_hint_load(&its->clean_ns);
  const bool is_first = level == WS_LEVEL_TOP && now_ns >= clean_ns + LONGER_MAX * last_ns;
  const uint64_t longer_ns = 2 * last_ns < LONGER_MAX * span_ns ? 2 * last_ns : LONGER_MAX * span_ns;
  const uint64_t next_ns = is_first || longer_ns < span_ns ? span_ns : longer_ns;
  ws_hint_store(&its->span_ns, next_ns);
  ws_hint_store(&its->clean_ns, now_ns + next_ns);
  if (level > 0)
    set_level(its, level - 1);
}

void ws_level_rise(ws_prewake_pool_t *its, uint64_t now_ns)
{
  const uint32_t level = ws_hint_load(&its->level);
  if (WS_LIKELY(level == WS_LEVEL_TOP) || now_ns < ws_hint_load(&its->clean_ns))
    return;
  ws_hint_store(&its->clean_ns, now_ns + ws_hint_load(&its->span_ns));
  set_level(its, level + 1); // of a fall at the same time one may get lost: the next one lowers it
}
