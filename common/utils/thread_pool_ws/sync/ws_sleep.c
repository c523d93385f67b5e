// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sleep.c
/// Waits for a time.
#include <errno.h>

#include "../fiber/ws_lot.h"
#include "../os/ws_os.h"
#include "ws_sync_word.h"

static bool is_early(void *at_ns)
{
  return ws_os_now_ns() < *(const uint64_t *)at_ns;
}

int ws_sleep_until(uint64_t at_ns)
{
  while (is_early(&at_ns)) // nothing else waits at the address of at_ns, nor wakes it
    if (ws_lot_park(&at_ns, is_early, &at_ns, at_ns, true) == -ECANCELED)
      return -ECANCELED;
  return 0;
}

int ws_sleep_ns(uint64_t ns)
{
  const uint64_t now_ns = ws_os_now_ns();
  return ws_sleep_until(ns < UINT64_MAX - now_ns ? now_ns + ns : UINT64_MAX);
}
