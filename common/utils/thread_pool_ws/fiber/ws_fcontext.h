// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fcontext.h
/// Boost.Context's C functions, which its library exports and none of its C headers declares.
#ifndef WS_FCONTEXT_H
#define WS_FCONTEXT_H

#include <stddef.h>

typedef void *fcontext_t;

/// What a context gets when it continues: the context that was left for it, and the jump's data.
typedef struct {
  fcontext_t fctx;
  void *data;
} transfer_t;

/// @brief Leave this context for @p to. @return the next jump back to this context
transfer_t jump_fcontext(fcontext_t to, void *data);

/// @brief Make a context that calls @p func on the stack that ends at @p stack_top. @p func must not return.
fcontext_t make_fcontext(void *stack_top, size_t size, void (*func)(transfer_t));

#endif
