// SPDX-License-Identifier: BSD-3-Clause
/// @file nr_ulsch_demodulation.c
/// A task a symbol, between the two calls of a statistic.
#include "nr_ulsch.h"
#include "openair1/uplink.h"

uint64_t nr_rx_pusch_tp(PHY_VARS_gNB *gNB, uint8_t ulsch_id, uint32_t frame, uint8_t slot)
{
  uint64_t seed[4] __attribute__((aligned(32))) = {ulsch_id, frame, slot, 1};
  start_meas(&gNB->rx_pusch_symbol_processing_stats);
  const uint64_t sum = ulsch_burst(&gNB->threadPool, SYMBOLS, seed[0] + seed[1] + seed[2]);
  stop_meas(&gNB->rx_pusch_symbol_processing_stats);
  return sum;
}
