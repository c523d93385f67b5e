// SPDX-License-Identifier: BSD-3-Clause
/// @file softmodem.h
/// One burst of work, and where each file of the model says which pool's header it was compiled with.
#ifndef SOFTMODEM_H
#define SOFTMODEM_H

#include <stdint.h>
#include <stdio.h>

#include <threadPool/thread-pool.h>

#ifdef MODEL_OWN_POOL
#define MODEL_HEADER "own"
#else
#define MODEL_HEADER "shadow"
#endif
#define MODEL_SAY_HEADER(file) fprintf(stderr, "model: %s has the pool's %s header\n", file, MODEL_HEADER)

#ifdef __cplusplus
extern "C" {
#endif

/// Push @p count elements, pull them all. @return a sum that does not depend on who ran what when
uint64_t ulsch_burst(tpool_t *pool, uint32_t count, uint64_t seed);
uint64_t radio_burst(tpool_t *pool, uint64_t seed);

/// A radio unit's and a base station's slots.
uint64_t radio_slots(tpool_t *pool);

/// In the module. Makes a pool of its own.
typedef uint64_t (*eth_burst_t)(uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
