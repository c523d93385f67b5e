// SPDX-License-Identifier: BSD-3-Clause
/// @file queue.c
/// The message queue beside the pool, which stays OAI's.
#include "common/utils/threadPool/notified_fifo.h"

uint64_t queue_round(uint64_t seed)
{
  notifiedFIFO_t queue;
  initNotifiedFIFO(&queue);
  pushNotifiedFIFO(&queue, newNotifiedFIFO_elt(0, seed, NULL, NULL));
  pushNotifiedFIFO(&queue, newNotifiedFIFO_elt(0, seed + 1, NULL, NULL));
  uint64_t sum = 0;
  for (uint64_t i = 1; i <= 2; i++) {
    notifiedFIFO_elt_t *elt = pullNotifiedFIFO(&queue);
    sum += i * elt->key;
    delNotifiedFIFO_elt(elt);
  }
  return sum;
}
