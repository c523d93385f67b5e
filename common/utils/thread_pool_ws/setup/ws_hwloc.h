// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hwloc.h
/// hwloc, in builds with WS_HWLOC. It is opened when a pool needs it, for NUMA nodes or for the order in
/// which pinned workers steal: a program that links the pool starts without hwloc and what hwloc needs. It
/// stays open. The functions of hwloc's headers that are inline call hwloc by name: they must not be used.
#ifndef WS_HWLOC_H
#define WS_HWLOC_H

#include <hwloc.h>
#include <hwloc/distances.h>

#if HWLOC_API_VERSION >> 16 == 2
#define WS_HWLOC_LIBRARY "libhwloc.so.15"
#else
#define WS_HWLOC_LIBRARY "libhwloc.so" // of a version that this file does not know
#endif

#define WS_HWLOC_FUNCTIONS(f)                                                                                \
  f(topology_init) f(topology_set_flags) f(topology_load) f(topology_destroy) f(get_type_depth)              \
      f(get_obj_by_depth) f(bitmap_isset) f(bitmap_weight) f(bitmap_isequal) f(distances_get_by_type)        \
          f(distances_release)
#define WS_HWLOC_FIELD(name) __typeof__(hwloc_##name) *(name);

/// The machine as hwloc reads it, and the functions that look at it, without hwloc_ before their names.
typedef struct {
  hwloc_topology_t topology;
  WS_HWLOC_FUNCTIONS(WS_HWLOC_FIELD)
} ws_hwloc_t;

/// @brief Open hwloc and read the machine. Takes milliseconds. @param flags  of hwloc_topology_set_flags()
/// @return NULL; or why it failed, for a warning: then ws_hwloc_end() must not be called
const char *ws_hwloc_begin(ws_hwloc_t *hwloc, unsigned long flags);
void ws_hwloc_end(const ws_hwloc_t *hwloc);

/// @return the first object of a type; its next_cousin is the next one. NULL = there is none
static inline hwloc_obj_t ws_hwloc_first(const ws_hwloc_t *hwloc, hwloc_obj_type_t type)
{
  return hwloc->get_obj_by_depth(hwloc->topology, hwloc->get_type_depth(hwloc->topology, type), 0);
}

#endif
