// SPDX-License-Identifier: BSD-3-Clause
#include <stdatomic.h>

#include "../../common/utils/thread_pool_ws/os/ws_os.h"
#include "clock.h"
#include "prewake.h"

/// Who returned sooner did not sleep: a CPU that did not go idle has nothing to wake from.
#define SLEPT_NS_MIN 20000u

static _Atomic uint64_t delay_ns;
static _Atomic uint32_t bimodal_percent;
static _Atomic uint64_t seed;
static _Atomic uint64_t cpu_ns;

void inject_set(uint64_t wanted_ns, uint32_t percent, uint64_t random_seed)
{
  delay_ns = wanted_ns;
  bimodal_percent = percent;
  seed = random_seed;
}

uint64_t inject_cpu_ns(void)
{
  return atomic_load_explicit(&cpu_ns, memory_order_relaxed);
}

/// A CPU that wakes slowly does so by the clock on the wall, though other threads want it.
static void stay_asleep(uint64_t wanted_ns)
{
  const uint64_t end_ns = clock_now_ns() + wanted_ns;
  uint64_t used_ns = 0;
  for (uint64_t last_ns = end_ns - wanted_ns, now_ns = last_ns; now_ns < end_ns; last_ns = now_ns) {
    now_ns = clock_now_ns();
    const uint64_t gap_ns = now_ns - last_ns;
    used_ns += gap_ns < WORK_GAP_NS_MAX ? gap_ns : WORK_GAP_NS_MAX;
  }
  atomic_fetch_add_explicit(&cpu_ns, used_ns, memory_order_relaxed);
}

static void delay_worker(uint64_t slept_ns)
{
  static _Thread_local random_t random;
  const int32_t worker = ws_worker_index();
  if (worker < 0 || slept_ns < SLEPT_NS_MIN)
    return;
  if (random.state == 0)
    random.state = seed << 32 ^ (uint64_t)(worker + 1) << 16;
  const bool slow = random_below(&random, 100) < bimodal_percent;
  stay_asleep(slow ? 4 * delay_ns : delay_ns);
}

// Named by the linker: __real_ is the pool's own function, and its callers get __wrap_ instead.
int __real_ws_os_futex_wait(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns);
int __wrap_ws_os_futex_wait(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns);
int __real_ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns);
int __wrap_ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns);

int __wrap_ws_os_futex_wait(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  if (delay_ns == 0)
    return __real_ws_os_futex_wait(word, expected, timeout_ns);
  const uint64_t begin_ns = clock_now_ns();
  const int result = __real_ws_os_futex_wait(word, expected, timeout_ns);
  delay_worker(clock_now_ns() - begin_ns);
  return result;
}

int __wrap_ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  if (delay_ns == 0)
    return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  const uint64_t begin_ns = clock_now_ns();
  const int result = __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  delay_worker(clock_now_ns() - begin_ns);
  return result;
}
