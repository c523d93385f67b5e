// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_spin_settings.c
/// The settings of spinning that can change while the pool runs.
#include "ws_idle.h"
#include "ws_wake.h"

int ws_pool_set_spin(ws_pool_t *pool, ws_spin_t spin, uint64_t lead_ns)
{
  if (!pool || spin > WS_SPIN_HOT || lead_ns > WS_SPIN_LEAD_NS_MAX)
    return -EINVAL;
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  ws_hint_store(&shared->spin_lead_ns, lead_ns);
  const bool was_hot = ws_is_hot(pool);
  ws_hint_store(&shared->spin, (uint32_t)spin);
  if (spin == WS_SPIN_HOT && !was_hot && !ws_is_lost(pool)) {
    // [edge PARK_DEKKER fence] The store of the mode before the loads of sleepers. Without the fence a
    // worker that parks can read the old mode, and sets no timer, while its bit is not seen here: it sleeps
    // though the pool is hot.
    ws_fence_seq_cst();
    ws_wake_all(pool); // those that sleep have no timer
  }
  return 0;
}

int ws_pool_set_spin_cpu_max(ws_pool_t *pool, uint32_t percent)
{
  if (!pool || percent > 100)
    return -EINVAL;
  ws_hint_store(&ws_sleep_pool(pool)->spin_percent, percent);
  return 0;
}
