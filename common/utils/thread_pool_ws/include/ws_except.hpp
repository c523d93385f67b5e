// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_except.hpp
/// Errors of the C++ headers: exceptions. In a build with -fno-exceptions an error that a function cannot
/// return ends the process, with a message that names the cause.
#ifndef WS_EXCEPT_HPP
#define WS_EXCEPT_HPP

#include "ws_macros_off.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_record.h" // IWYU pragma: export

#if defined(__cpp_exceptions)
#define WS_EXCEPTIONS 1
#else
#define WS_EXCEPTIONS 0
#endif

// Files of one program may be built with and without exceptions. Their functions of one name differ then, so
// each has a namespace of its own. ws::pool means the one of the file's own mode. Files for different
// standards share all types except the stop tokens (ws_stop.hpp), on which no other type depends.
#if WS_EXCEPTIONS
#define WS_CXX_MODE cxx
#else
#define WS_CXX_MODE cxx_noexcept
#endif

namespace ws {
inline namespace WS_CXX_MODE {

/// In place of a result: the task has not run, because a stop was requested, or the pool was aborted, before
/// it began. Thrown by a wait that is ended for these reasons.
class cancelled : public std::exception {
 public:
  const char *what() const noexcept override { return "ws: a task or a wait was cancelled"; }
};

namespace detail {

/// Why a task does not run: its pool refused it (an errno value, positive), or ...
constexpr int RUNS = WS_RECORD_RUN;
/// ... it was skipped after it had been accepted.
constexpr int SKIPPED = WS_RECORD_SKIPPED;

/// @brief Report @p error, a positive errno value, of @p what: throw std::system_error, or end the process.
[[noreturn]] inline void fail(int error, const char *what)
{
#if WS_EXCEPTIONS
  throw std::system_error(error, std::generic_category(), what);
#else
  std::fprintf(stderr, "%s: %s\n", what, std::generic_category().message(error).c_str());
  std::abort();
#endif
}

/// @brief Report that @p what was cancelled: throw ws::cancelled, or end the process.
[[noreturn]] inline void fail_cancelled(const char *what)
{
#if WS_EXCEPTIONS
  static_cast<void>(what);
  throw cancelled();
#else
  fail(ECANCELED, what);
#endif
}

/// @brief End the process, because @p call was used as it must not be.
[[noreturn]] inline void misused(const char *call, const char *how) noexcept
{
  std::fprintf(stderr, "%s: %s\n", call, how);
  std::abort();
}

/// @return the exception for a future whose task does not run. Without exceptions a future cannot hold an
/// error: the process ends
inline std::exception_ptr reason(int error)
{
#if WS_EXCEPTIONS
  if (error == SKIPPED)
    return std::make_exception_ptr(cancelled());
  return std::make_exception_ptr(
      std::system_error(error, std::generic_category(), "ws::pool: the task was refused"));
#else
  fail(error == SKIPPED ? ECANCELED : error, "ws::pool: a task with a future does not run");
#endif
}

/// @brief Call @p body. @return the exception that has left it; null = none
template <typename Body>
std::exception_ptr attempt(Body &&body)
{
#if WS_EXCEPTIONS
  try {
    std::forward<Body>(body)();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
#else
  std::forward<Body>(body)();
  return nullptr;
#endif
}

inline void rethrow(const std::exception_ptr &error)
{
  if (error)
    std::rethrow_exception(error);
}

/// @brief End the process if there is an exception, which no caller can get. The terminate handler finds it
/// as the current exception. If it left a noexcept function, GCC 12 would not always show it.
inline void end_with(const std::exception_ptr &error) noexcept
{
#if WS_EXCEPTIONS
  try {
    rethrow(error);
  } catch (...) {
    std::terminate();
  }
#else
  static_cast<void>(error);
#endif
}

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
