// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_files.h
/// Files of a made-up machine, for the seam: SEAM(ws_os_read).
#ifndef WS_FILES_H
#define WS_FILES_H

#include "ws_seam.h" // IWYU pragma: export

typedef struct {
  const char *path, *text;
} file_t;

static const file_t *files; ///< up to one without a path; NULL = this machine's

static bool ws_os_read_seam(const char *path, char *text, size_t bytes)
{
  if (!files)
    return __real_ws_os_read(path, text, bytes);
  for (const file_t *file = files; file->path; file++)
    if (strcmp(file->path, path) == 0)
      return snprintf(text, bytes, "%s", file->text) > 0;
  return false;
}

#endif
