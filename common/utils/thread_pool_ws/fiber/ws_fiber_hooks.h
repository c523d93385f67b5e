// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_hooks.h
/// What the core calls in this library.
#ifndef WS_FIBER_HOOKS_H
#define WS_FIBER_HOOKS_H

/// @brief Have the core call this library. @threads one, once
void ws_fiber_hook(void);

#endif
