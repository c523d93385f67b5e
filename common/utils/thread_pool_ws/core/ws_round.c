// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_round.c
/// ws_round.h.
#include "ws_round.h"

/// Stops of a round, at most.
#define STOPS_MAX 16u
/// A round in which fibers stop takes about so long.
#define ROUND_NS 50000u

void ws_round_begin(ws_queue_t *queue)
{
  const uint32_t stops = queue->round_stops - queue->stops_left;
  queue->round_left = WS_ROUND_SEARCHES;
  if (!ws_round_has_stops(queue))
    return;
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t took_ns = now_ns - queue->round_begun_ns + 1;
  const uint64_t in_time = (uint64_t)stops * ROUND_NS / took_ns;
  const uint32_t most = stops < STOPS_MAX / 2 ? 2 * stops : STOPS_MAX;
  queue->round_stops = in_time == 0 ? 1 : in_time < most ? (uint32_t)in_time : most;
  queue->stops_left = queue->round_stops;
  queue->round_begun_ns = now_ns;
}
