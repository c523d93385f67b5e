// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_file.h
/// A file that other programs read while this one writes it: the page, and the record.
#ifndef WS_FILE_H
#define WS_FILE_H

#include <stddef.h>

/// @brief Make a file that only this user can open, with all its room, and map it. What has that name stays.
/// @param memory  the mapping, of zeros; NULL if that fails
/// @return 0 or an error number; there is no file then
int ws_file_map(const char *path, size_t bytes, void **memory);

#endif
