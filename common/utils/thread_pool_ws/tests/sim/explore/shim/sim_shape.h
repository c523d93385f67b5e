// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_shape.h
/// What the scenarios of each shape begin with. Each has functions of its own (sim_shim_seam.h), so this is
/// included once by each.
#ifndef SIM_SHAPE_H
#define SIM_SHAPE_H

#include <string.h>

#include "common/utils/threadPool/thread-pool.h" // IWYU pragma: export
#include "sim_heap.h" // IWYU pragma: export
#include "sim_libc.h" // IWYU pragma: export
#include "sim_play.h" // IWYU pragma: export
#include "sim_record.h" // IWYU pragma: export
#include "sim_shim.h" // IWYU pragma: export
#include "sim_shim_seam.h" // IWYU pragma: export
#include "ws_tpool.h" // IWYU pragma: export
#include "ws_tpool_hooks.h" // IWYU pragma: export

static tpool_t tpool[SIM_POOLS_MAX];

static void make_tpool(uint32_t index, bool measures)
{
  char params[SIM_SHIM_PARAMS_BYTES];
  memset(&tpool[index], 0xA5, sizeof(tpool[index])); // it is not read before the init
  sim_shim_make_begin(index, params);
  initNamedTpool(params, &tpool[index], measures, index % 2 == 0 ? NULL : params);
  sim_shim_make_end(index, tpool[index].ws);
}

static void hint(const sim_burst_t *burst, bool begins)
{
  if (sim_shim_is_hinted(burst, begins))
    ws_oai_prewake(&tpool[burst->pool], burst->count);
}

#endif
