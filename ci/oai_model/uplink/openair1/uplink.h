// SPDX-License-Identifier: BSD-3-Clause
/// @file uplink.h
/// The names in OAI's uplink that the semantic patches look for (openair1_patches), around plain bursts.
#ifndef UPLINK_H
#define UPLINK_H

#include <inttypes.h>
#include <stdbool.h>

#include "executables/softmodem.h"
#include "openair1/decoding.h"

#define USERS_MAX 4

typedef struct {
  uint64_t calls;
} meter_t;

typedef struct {
  int symbols;
} frame_parms_t;

typedef struct gNB_s {
  tpool_t threadPool;
  DECODING_FIELDS
  frame_parms_t frame_parms;
  int max_nb_pusch;
  uint64_t sum;
  meter_t pusch_vars[USERS_MAX]; // of the newest: a user's place is its id
  meter_t rx_pusch_symbol_processing_stats, ulsch_decoding_stats;
} PHY_VARS_gNB;

typedef struct RU_s {
  tpool_t *threadPool;
  int nb_rx;
  PHY_VARS_gNB *gNB_list[2];
  uint64_t sum;
  void (*fh_south_in)(struct RU_s *ru, int *slot);
  void (*feprx)(struct RU_s *ru, int slot);
} RU_t;

static inline void start_meas(meter_t *meter)
{
  meter->calls++;
}

static inline void stop_meas(meter_t *meter)
{
  meter->calls++;
}

static inline void nr_slot_fep_ul(const frame_parms_t *parms, int symbol, int antenna, uint64_t *sum)
{
  *sum += (uint64_t)(parms->symbols * antenna + symbol);
}

uint64_t nr_rx_pusch_tp(PHY_VARS_gNB *gNB, uint8_t ulsch_id, uint32_t frame, uint8_t slot);
uint64_t nr_rx_pusch_group_tp(PHY_VARS_gNB *gNB, meter_t **users, int group_size, uint32_t frame,
                              uint8_t slot);
uint64_t nr_rx_pusch(PHY_VARS_gNB *gNB, uint8_t ulsch_id, uint32_t frame, uint8_t slot);
/// Users 1 and up send in every slot that is no multiple of 4, user 0 in slots 2, 6, ... Adds to gNB->sum.
int phy_procedures_gNB_uespec_RX(PHY_VARS_gNB *gNB, int frame_rx, int slot_rx);
void l1_slot(PHY_VARS_gNB *gNB, int frame, int slot);

#endif
