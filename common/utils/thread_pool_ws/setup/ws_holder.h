// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_holder.h
/// Which thread holds a CPU: for warnings.
#ifndef WS_HOLDER_H
#define WS_HOLDER_H

#include <stddef.h>
#include <stdint.h>

/// @brief Name the real-time thread of the highest priority that is about to run, or runs, on @p cpu: its
/// number, name, process, class and priority. Reads the whole of /proc, which takes milliseconds.
/// @param but   a thread that is not meant
/// @param text  out: "" = none is seen
void ws_holder_text(uint32_t cpu, int32_t but, char *text, size_t bytes);

#endif
