// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_version.h
/// The version of these headers, and of the library that runs. CONTRIBUTING.md states what a version
/// promises. The build reads the three numbers here.
#ifndef WS_VERSION_H
#define WS_VERSION_H

#include <stdint.h>

#define WS_VERSION_MAJOR 0
#define WS_VERSION_MINOR 2
#define WS_VERSION_PATCH 0
/// The version as one number, for comparisons: 1.2.3 is 10203.
#define WS_VERSION_NUMBER (WS_VERSION_MAJOR * 10000 + WS_VERSION_MINOR * 100 + WS_VERSION_PATCH)

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// @return WS_VERSION_NUMBER of the library that the program runs with
/// @threads   any
uint32_t ws_version(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
