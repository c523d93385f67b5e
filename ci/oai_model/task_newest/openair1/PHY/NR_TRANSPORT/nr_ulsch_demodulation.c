// SPDX-License-Identifier: BSD-3-Clause
/// @file nr_ulsch_demodulation.c
/// A task a symbol, of a group of users at once.
#include "nr_ulsch.h"
#include "openair1/uplink.h"

uint64_t nr_rx_pusch_group_tp(PHY_VARS_gNB *gNB, meter_t **users, int group_size, uint32_t frame,
                              uint8_t slot)
{
  uint64_t seed[group_size] __attribute__((aligned(32)));
  for (int i = 0; i < group_size; i++)
    seed[i] = (uint64_t)(users[i] - gNB->pusch_vars) + frame + slot;
  start_meas(&gNB->rx_pusch_symbol_processing_stats);
  const uint64_t sum = ulsch_burst(&gNB->threadPool, SYMBOLS, seed[0]);
  stop_meas(&gNB->rx_pusch_symbol_processing_stats);
  return sum;
}
