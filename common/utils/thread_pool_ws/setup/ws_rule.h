// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rule.h
/// Rules for functions (settings.rule): their text, and the pool's table of addresses.
#ifndef WS_RULE_H
#define WS_RULE_H

#include "../pool/ws_types.h"

/// @brief Add the rule of an entry limit=<func>:<n> or prio=<func>:<priority> to @p settings.
/// @param name  of the entry. @param text  after "=", @p length characters without blanks around them
/// @return NULL, or why it is invalid
const char *ws_rule_read(ws_settings_t *settings, const char *name, const char *text, size_t length);

/// @brief Check the rules of @p settings; warn about the first that is invalid. @return 0 or -EINVAL
int ws_rule_check(const ws_settings_t *settings);

/// @brief Find the functions by their names, and make the pool's table and lines. Warns of each name that no
/// function has. @return 0 or -ENOMEM
int ws_rule_make(struct ws_pool_s *pool);
void ws_rule_free(struct ws_pool_s *pool);

/// @brief Find functions of the program and of the libraries that are loaded now, static ones too, by the
/// symbol tables of their files (ws_symbols.c). A name with a compiler's suffix (".lto_priv.0") counts.
/// @param found  out: addresses, each once. @return how many, at most @p found_max
uint32_t ws_symbols_find(const char *name, uintptr_t *found, uint32_t found_max);

#endif
