// SPDX-License-Identifier: BSD-3-Clause
/// @file softmodem.c
/// Bursts on several pools; prints a result that does not depend on the pool. What pool it has goes to
/// stderr.
#include "executables/softmodem.h"

#include <dlfcn.h>

#include "task_ans.h"
#include "thread-pool.h"

static uint64_t module_burst(tpool_t *pool, uint64_t seed)
{
  static void *module;
  if (!module)
    module = dlopen("./libldpc.so", RTLD_NOW);
  AssertFatal(module != NULL, "%s", dlerror());
  ldpc_burst_t burst = (ldpc_burst_t)dlsym(module, "ldpc_burst");
  AssertFatal(burst != NULL, "%s", dlerror());
  return burst(pool, seed);
}

int main(void)
{
  MODEL_SAY_HEADER("softmodem.c");
  static tpool_t workers, nobody, never_aborted;
  initFloatingCoresTpool(3, &workers, false, "gNB-tpool");
  initNamedTpool("n", &nobody, false, "RU");
  initTpool("-1,-1", &never_aborted, false);

  uint64_t sum = 0;
  for (uint32_t slot = 0; slot < 200; slot++)
    sum = sum * 31 + ulsch_burst(&workers, 1 + slot % 23, slot);
  sum = sum * 31 + ulsch_burst(&nobody, 12, 7);
  sum = sum * 31 + ulsch_burst(&never_aborted, 50, 8);
  sum = sum * 31 + radio_burst(&workers, 9);
  sum = sum * 31 + module_burst(&workers, 10);
  sum = sum * 31 + module_burst(&nobody, 11);
  sum = sum * 31 + queue_round(12);
  sum = sum * 31 + radio_slots(&workers);
  abortTpool(&workers);
  printf("result %016" PRIx64 "\n", sum);
  return 0;
}
