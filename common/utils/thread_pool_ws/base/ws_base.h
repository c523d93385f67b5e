// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_base.h
/// What every file of the core needs: cache-line spacing, branch hints, assertions, structures that callers
/// of another version declare, and those headers of the C library that most files need. A file includes each
/// header whose names stand in it, but for what another one hands on: the lines there that are marked "IWYU
/// pragma: export". Another C library's headers may bring fewer names by chance.
#ifndef WS_BASE_H
#define WS_BASE_H

#include <errno.h> // IWYU pragma: export
#include <stdalign.h> // IWYU pragma: export
#include <stdarg.h>
#include <stdbool.h> // IWYU pragma: export
#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export
#include <stdio.h> // IWYU pragma: export
#include <stdlib.h> // IWYU pragma: export
#include <string.h> // IWYU pragma: export

// AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__)
#define WS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WS_ASAN 1
#endif
#endif

/// Words with different writers stand this far apart: two lines, because x86 prefetches the neighbour of a
/// line.
#define WS_SPACING 128

#define WS_LIKELY(x) __builtin_expect(!!(x), 1)
#define WS_UNLIKELY(x) __builtin_expect(!!(x), 0)
/// A function for the unlikely case: kept apart, so that it costs its caller no register.
#define WS_SELDOM __attribute__((noinline))

/// On a declaration of the core that the fibers' library uses. The shared library of the core exports it in a
/// version of its own (cmake_targets/install/exports.map.in). Calls within the core stay direct.
#ifdef WS_ABOVE_CORE
#define WS_FOR_FIBERS __attribute__((visibility("default")))
#else
#define WS_FOR_FIBERS __attribute__((visibility("protected")))
#endif

/// A caller breaks a rule of the public function @p call in a way that would corrupt memory or never end, and
/// the function has no error code for it: print the function's name and, as printf, what was found, to stderr
/// (cut at 255 characters); abort().
__attribute__((noreturn, noinline, cold, unused, format(printf, 2, 3))) static void
ws_misuse(const char *call, const char *what, ...)
{
  char text[256];
  va_list args;
  va_start(args, what);
  vsnprintf(text, sizeof(text), what, args);
  va_end(args);
  fprintf(stderr, "thread_pool_ws: %s(): %s\n", call, text);
  abort();
}

/// A rule of the public function @p call. The rest as ws_misuse().
#define WS_REQUIRE(cond, call, ...)                                                                          \
  do {                                                                                                       \
    if (WS_UNLIKELY(!(cond)))                                                                                \
      ws_misuse(call, __VA_ARGS__);                                                                          \
  } while (0)

/// The name of a source without its folder, which is the builder's.
#ifdef __FILE_NAME__
#define WS_FILE_NAME __FILE_NAME__
#else
#define WS_FILE_NAME (__builtin_strrchr("/" __FILE__, '/') + 1)
#endif

/// A broken invariant of the library: say where, and end the process.
#define WS_ASSERT(cond)                                                                                      \
  do {                                                                                                       \
    if (WS_UNLIKELY(!(cond))) {                                                                              \
      fprintf(stderr, "thread_pool_ws: %s:%d: assertion failed: %s\n", WS_FILE_NAME, __LINE__, #cond);       \
      abort();                                                                                               \
    }                                                                                                        \
  } while (0)

// A word that has states: a constant table beside their names lists each change that may happen. The models
// of tests/model have the same lists (ci/lint_states.py).

/// In such a table, at the index of a state: a bit for each state that may follow.
#define WS_TO(state) (UINT32_C(1) << (state))
/// The word of @p table changes its state. A build without NDEBUG, and the simulated machine, end the process
/// at a change that is not in the table. In another build the arguments are not evaluated.
#if defined(NDEBUG) && !defined(WS_SIMULATED)
#define WS_CHANGES(table, from, to) ((void)sizeof((table)[0] + (from) + (to)))
#else
#define WS_CHANGES(table, from, to) WS_ASSERT((table)[from] & WS_TO(to))
#endif

/// @return the smaller one
static inline uint64_t ws_least(uint64_t one, uint64_t other)
{
  return one < other ? one : other;
}

/// @return how much @p value is above another one
static inline uint64_t ws_above(uint64_t value, uint64_t other)
{
  return value > other ? value - other : 0;
}

// Structures that callers of an older or newer version declare: fields are only appended, so the shorter one
// is the beginning of the longer one.

/// @brief Copy a structure of this version to a caller's of @p bytes. What the caller's has more is set to 0;
/// what it lacks is left out.
static inline void ws_sized_put(void *to, size_t bytes, const void *own, size_t own_bytes)
{
  const size_t common = bytes < own_bytes ? bytes : own_bytes;
  memcpy(to, own, common);
  memset((char *)to + common, 0, bytes - common);
}

/// @brief Copy a caller's structure of @p bytes over one of this version. Fields that the caller's lacks keep
/// their values.
/// @return false if the caller's has more, and that is not 0: this version does not know what it asks for.
/// The fields that both have are copied all the same
static inline bool ws_sized_take(void *own, size_t own_bytes, const void *from, size_t bytes)
{
  memcpy(own, from, bytes < own_bytes ? bytes : own_bytes);
  for (size_t i = own_bytes; i < bytes; i++)
    if (((const char *)from)[i] != 0)
      return false;
  return true;
}

#endif
