// SPDX-License-Identifier: BSD-3-Clause
/// @file softmodem.c
/// Bursts on several pools; prints a result that does not depend on the pool. What pool it has goes to
/// stderr.
#include "executables/softmodem.h"

#include <dlfcn.h>
#include <stddef.h>

static uint64_t module_burst(uint64_t seed)
{
  void *module = dlopen("./liboai_eth_transpro.so", RTLD_NOW);
  AssertFatal(module != NULL, "%s", dlerror());
  eth_burst_t burst = (eth_burst_t)dlsym(module, "eth_burst");
  AssertFatal(burst != NULL, "%s", dlerror());
  return burst(seed);
}

int main(void)
{
  MODEL_SAY_HEADER("softmodem.c");
  static tpool_t workers, nobody, never_aborted;
  initFloatingCoresTpool(3, &workers, false, "gNB-tpool");
  initNamedTpool("n", &nobody, false, "RU");
  initFloatingCoresTpool(2, &never_aborted, false, "UE-tpool");

  uint64_t sum = 0;
  for (uint32_t slot = 0; slot < 200; slot++)
    sum = sum * 31 + ulsch_burst(&workers, 1 + slot % 23, slot);
  sum = sum * 31 + ulsch_burst(&nobody, 12, 7);
  sum = sum * 31 + ulsch_burst(&never_aborted, 50, 8);
  sum = sum * 31 + radio_burst(&workers, 9);
  sum = sum * 31 + module_burst(10);
  sum = sum * 31 + radio_slots(&workers);
  abortTpool(&workers);
  sum = sum * 31 + ulsch_burst(&workers, 5, 11); // after the abort: inline
  printf("result %016" PRIx64 "\n", sum);
  printf("element: %zu bytes, key %zu, returnTime %zu, msgData %zu\n", sizeof(notifiedFIFO_elt_t),
         offsetof(notifiedFIFO_elt_t, key), offsetof(notifiedFIFO_elt_t, returnTime),
         offsetof(notifiedFIFO_elt_t, msgData));
  return 0;
}
