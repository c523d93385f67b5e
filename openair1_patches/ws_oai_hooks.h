// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_oai_hooks.h
/// The macros that the semantic patches of this folder put into OAI's functions. The compiler includes this
/// file before the first line of a patched file (-include). So it needs no header of OAI's, and OAI sees only
/// these macros and the functions that they call. Each use is one statement; its arguments are the patched
/// function's own variables.
#ifndef WS_OAI_HOOKS_H
#define WS_OAI_HOOKS_H

#include "../common/utils/thread_pool_ws/shim/common/ws_tpool_hooks.h"

/// Begins a phase. @return it, for ws_oai_scope_end()
static inline int ws_oai_scope_begin(int phase, unsigned frame, unsigned slot, unsigned id)
{
  ws_oai_phase_begin(phase, frame, slot, id);
  return phase;
}

static inline void ws_oai_scope_end(const int *phase)
{
  ws_oai_phase_end(*phase);
}

#ifdef __cplusplus
typedef bool ws_oai_bool_t;
#else
typedef _Bool ws_oai_bool_t; // without stdbool.h, see above
#endif

/// @return the first index that is set; @p count when none is
static inline unsigned ws_oai_first(const ws_oai_bool_t *set, unsigned count)
{
  unsigned first = 0;
  while (first < count && !set[first])
    first++;
  return first;
}

/// A phase that lasts until the block is left.
#define WS_OAI_SCOPE(phase, frame, slot, id)                                                                 \
  __attribute__((cleanup(ws_oai_scope_end), unused)) const int ws_oai_scope =                                \
      ws_oai_scope_begin(phase, frame, slot, id)

/// Symbol processing of one user's PUSCH.
#define WS_OAI_SYMBOLS_BEGIN(frame, slot, id) ws_oai_phase_begin(WS_OAI_SYMBOLS, frame, slot, id)
#define WS_OAI_SYMBOLS_END() ws_oai_phase_end(WS_OAI_SYMBOLS)
#define WS_OAI_SYMBOLS_SCOPE(frame, slot, id) WS_OAI_SCOPE(WS_OAI_SYMBOLS, frame, slot, id)

/// ULSCH decoding: of one user until the slot's results are in; or of all users that @p chosen flags, or
/// @p users lists.
#define WS_OAI_DECODING_BEGIN(frame, slot, id) ws_oai_phase_begin(WS_OAI_DECODING, frame, slot, id)
#define WS_OAI_DECODING_END() ws_oai_phase_end(WS_OAI_DECODING)
#define WS_OAI_DECODING_SCOPE(frame, slot, chosen, count)                                                    \
  WS_OAI_SCOPE(WS_OAI_DECODING, frame, slot, ws_oai_first(chosen, count))
#define WS_OAI_DECODING_LIST(frame, slot, users) WS_OAI_SCOPE(WS_OAI_DECODING, frame, slot, (users)[0])

/// The samples of a slot are there. Two tasks an antenna follow, of which the pushing thread takes one.
#define WS_OAI_PREWAKE_RU(ru) ws_oai_prewake((ru)->threadPool, 2 * (unsigned)(ru)->nb_rx - 1)

/// An uplink slot is about to be received, by this thread: as many workers as pay (WS_AS_MANY_AS_PAY). They
/// begin to wake while it estimates the channel.
#define WS_OAI_PREWAKE_SLOT(gNB) ws_oai_prewake(&(gNB)->threadPool, ~0u)

#endif
