// SPDX-License-Identifier: BSD-3-Clause
// Two contexts on one thread, and nothing between them: what no library can beat.
#include <stdlib.h>

#include "clock.h"
#include "latch_ping.h"
#include "ws_fcontext.h"

#define STACK_BYTES 65536

static void jump_back(transfer_t from)
{
  for (;;)
    from = jump_fcontext(from.fctx, from.data);
}

static double jump_yield(uint32_t count)
{
  char *const stack = aligned_alloc(64, STACK_BYTES);
  if (!stack)
    return 0;
  transfer_t other = {make_fcontext(stack + STACK_BYTES, STACK_BYTES, jump_back), NULL};
  other = jump_fcontext(other.fctx, NULL);
  const uint64_t begin_ns = clock_now_ns();
  for (uint32_t i = 0; i < count; i++)
    other = jump_fcontext(other.fctx, NULL);
  const uint64_t end_ns = clock_now_ns();
  free(stack);
  return (double)(end_ns - begin_ns) / (2.0 * count);
}

const ping_t ping_jump = {.version = "jump_fcontext", .yield = jump_yield};
