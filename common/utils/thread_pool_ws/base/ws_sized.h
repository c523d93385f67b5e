// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sized.h
/// Structures that callers of an older or newer version declare: fields are only appended, so the shorter one
/// is the beginning of the longer one.
#ifndef WS_SIZED_H
#define WS_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/// @brief Copy a structure of this version to a caller's of @p bytes. What the caller's has more is set to 0.
static inline void ws_sized_put(void *to, size_t bytes, const void *own, size_t own_bytes)
{
  const size_t common = bytes < own_bytes ? bytes : own_bytes;
  memcpy(to, own, common);
  memset((char *)to + common, 0, bytes - common);
}

/// @brief Copy a caller's structure of @p bytes over one of this version.
/// @return false if the caller's has more, and that is not 0: this version does not know what it asks for
static inline bool ws_sized_take(void *own, size_t own_bytes, const void *from, size_t bytes)
{
  memcpy(own, from, bytes < own_bytes ? bytes : own_bytes);
  for (size_t i = own_bytes; i < bytes; i++)
    if (((const char *)from)[i] != 0)
      return false;
  return true;
}

#endif
