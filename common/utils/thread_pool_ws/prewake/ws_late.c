// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_late.c
/// ws_stats.h: the causes of late starts, in words.
#include "../include/ws_stats.h"

const char *ws_late_name(ws_late_t cause)
{
  static const char *const names[WS_LATE_CAUSES] = {
      [WS_LATE_BURST_EARLY] = "burst early",
      [WS_LATE_BURST_LATE] = "burst later than seen",
      [WS_LATE_GAVE_UP] = "gave up early",
      [WS_LATE_PAUSE] = "after a pause",
      [WS_LATE_NO_PATTERN] = "not expected",
      [WS_LATE_LEVEL] = "pre-wake off",
      [WS_LATE_PLACES] = "no place among the awake",
      [WS_LATE_CAP] = "no CPU time left",
      [WS_LATE_TIMER] = "timer late",
      [WS_LATE_BUSY_CPU] = "woke on the pushing thread's CPU",
      [WS_LATE_CPU_TAKEN] = "CPU taken",
      [WS_LATE_CALL] = "called late",
      [WS_LATE_WAKE] = "woken by the push",
  };
  return (uint32_t)cause < WS_LATE_CAUSES ? names[cause] : NULL;
}
