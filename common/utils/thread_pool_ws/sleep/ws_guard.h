// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_guard.h
/// One thread that looks whether tasks wait behind blocked workers: see ws_guard.c.
#ifndef WS_GUARD_H
#define WS_GUARD_H

#include "../pool/ws_types.h"

/// @brief Start the guard's thread where workers can outnumber the CPUs. Without a thread for it the cap is
/// off.
void ws_guard_start(struct ws_pool_s *pool);

/// @brief End it, before the workers do.
void ws_guard_end(struct ws_pool_s *pool);

#endif
