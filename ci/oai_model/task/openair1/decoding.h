// SPDX-License-Identifier: BSD-3-Clause
/// @file decoding.h
/// What uplink.h needs of this generation: the decoding joins by itself.
#ifndef DECODING_H
#define DECODING_H

#include <inttypes.h>

typedef struct gNB_s PHY_VARS_gNB;

#define DECODING_FIELDS
#define DECODING_INIT(gNB) (void)(gNB)

uint64_t nr_ulsch_decoding(PHY_VARS_gNB *gNB, uint32_t frame, uint8_t slot, uint8_t *ULSCH_ids, int count);

#endif
