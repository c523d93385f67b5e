// SPDX-License-Identifier: BSD-3-Clause
/// @file radio.cpp
/// The caller in C++: uses the FIFO inlines itself.
#include <common/utils/threadPool/thread-pool.h>

#include "executables/softmodem.h"

static void fold(void *arg)
{
  uint64_t *value = static_cast<uint64_t *>(arg);
  *value ^= *value << 13;
}

uint64_t radio_burst(tpool_t *pool, uint64_t seed)
{
  MODEL_SAY_HEADER("radio.cpp");
  notifiedFIFO_t done;
  initNotifiedFIFO(&done);
  for (uint64_t i = 0; i < 8; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(uint64_t), i, &done, fold);
    *static_cast<uint64_t *>(NotifiedFifoData(elt)) = seed + i;
    pushTpool(pool, elt);
  }
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 8;) {
    notifiedFIFO_elt_t *elt = tryPullTpool(&done, pool);
    if (elt) {
      sum += *static_cast<uint64_t *>(NotifiedFifoData(elt));
      delNotifiedFIFO_elt(elt);
      i++;
    }
  }
  return sum;
}
