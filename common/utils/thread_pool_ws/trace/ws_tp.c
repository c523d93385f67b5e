// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tp.c
/// The code of the provider, made by LTTng's headers: no other file holds any.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "ws_tp.h"
