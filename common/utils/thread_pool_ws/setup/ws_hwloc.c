// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hwloc.c
/// ws_hwloc.h.
#ifdef WS_HWLOC
#include "ws_hwloc.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static const char *open_library(ws_hwloc_t *hwloc)
{
  void *library = dlopen(WS_HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return dlerror();
  bool whole = true;
#define WS_HWLOC_FIND(name)                                                                                  \
  {                                                                                                          \
    void *const found = dlsym(library, "hwloc_" #name);                                                      \
    memcpy(&hwloc->name, &found, sizeof(found));                                                             \
    whole = whole && found;                                                                                  \
  }
  WS_HWLOC_FUNCTIONS(WS_HWLOC_FIND)
#undef WS_HWLOC_FIND
  return whole ? NULL : "it lacks a function";
}

const char *ws_hwloc_begin(ws_hwloc_t *hwloc, unsigned long flags)
{
  const char *why = open_library(hwloc);
  if (why)
    return why;
  if (hwloc->topology_init(&hwloc->topology) < 0)
    return "no memory";
  if (hwloc->topology_set_flags(hwloc->topology, flags) == 0 && hwloc->topology_load(hwloc->topology) == 0)
    return NULL;
  hwloc->topology_destroy(hwloc->topology);
  return "it cannot read the machine";
}

void ws_hwloc_end(const ws_hwloc_t *hwloc)
{
  hwloc->topology_destroy(hwloc->topology);
}
#else
typedef int ws_hwloc_none_t; // a file must not be empty
#endif
