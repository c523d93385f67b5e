// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_local_value.h
/// The values of ws_local.h that a fiber or a thread has: a list, of which only that one knows.
#ifndef WS_LOCAL_VALUE_H
#define WS_LOCAL_VALUE_H

/// @brief End the values of a fiber or thread, and those that the ends set: none is left.
/// @threads  that fiber or thread
void ws_local_end(struct ws_local_value_s **locals);

#endif
