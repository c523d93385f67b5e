// SPDX-License-Identifier: BSD-3-Clause
/// @file decoding.h
/// What uplink.h needs of this generation: a user's segments answer to a FIFO of the base station.
#ifndef DECODING_H
#define DECODING_H

#include <inttypes.h>

typedef struct gNB_s PHY_VARS_gNB;

#define DECODING_FIELDS notifiedFIFO_t respDecode;
#define DECODING_INIT(gNB) initNotifiedFIFO(&(gNB)->respDecode)

/// @return tasks pushed; each answers with a number
int nr_ulsch_decoding(PHY_VARS_gNB *gNB, uint8_t ULSCH_id, uint32_t frame, uint8_t nr_tti_rx);

#endif
