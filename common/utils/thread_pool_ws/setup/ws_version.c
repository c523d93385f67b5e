// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_version.c
/// ws_version.h.
#include "../include/ws_version.h"

uint32_t ws_version(void)
{
  return WS_VERSION_NUMBER;
}
