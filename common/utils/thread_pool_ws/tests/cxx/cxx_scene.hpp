// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_scene.hpp
/// What the C++ tests share: pools whose workers stand in a gate, time limits of all kinds, and how calls
/// end.
#ifndef CXX_SCENE_HPP
#define CXX_SCENE_HPP

#include <atomic> // IWYU pragma: export
#include <cerrno> // IWYU pragma: export
#include <chrono> // IWYU pragma: export
#include <cstddef> // IWYU pragma: export
#include <cstdint> // IWYU pragma: export
#include <cstdio> // IWYU pragma: export
#include <cstdlib> // IWYU pragma: export
#include <exception> // IWYU pragma: export
#include <functional> // IWYU pragma: export
#include <future> // IWYU pragma: export
#include <memory> // IWYU pragma: export
#include <optional> // IWYU pragma: export
#include <stdexcept> // IWYU pragma: export
#include <string> // IWYU pragma: export
#include <system_error> // IWYU pragma: export
#include <thread> // IWYU pragma: export
#include <type_traits> // IWYU pragma: export
#include <utility> // IWYU pragma: export
#include <vector> // IWYU pragma: export

#include "../../include/ws_pool.hpp" // IWYU pragma: export
#include "../support/ws_death.h" // IWYU pragma: export

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

/// The cases of a program's files, which cxx_main.cpp runs.
inline std::vector<test_case_t> &cases_of_program()
{
  static std::vector<test_case_t> cases;
  return cases;
}

/// A case of the program: CASE(name) { ... }. A program has each name once. Those that fork come first. Under
/// thread sanitizer the child of a process with threads begins none, and the library of fibers keeps threads.
#define CASE_AT(name, place)                                                                                 \
  static void name();                                                                                        \
  static const auto name##_is_added =                                                                        \
      cases_of_program().insert(cases_of_program().place(), {#name, name, 0, nullptr});                      \
  static void name()
#define CASE(name) CASE_AT(name, end)
#define FORK_CASE(name) CASE_AT(name, begin)

inline ws_settings_t settings_of(std::uint32_t workers)
{
  return test_settings(workers);
}

/// A case that has a pool of so many workers: POOL_CASE(name, 1) { pool.push(...); }
#define POOL_CASE(name, workers)                                                                             \
  static void name##_in(ws::pool &pool);                                                                     \
  CASE(name)                                                                                                 \
  {                                                                                                          \
    ws::pool pool(settings_of(workers));                                                                     \
    name##_in(pool);                                                                                         \
  }                                                                                                          \
  static void name##_in(ws::pool &pool)

/// A gate that is destroyed with its scope.
struct gate {
  test_gate_t c;
  gate() { test_gate_init(&c); }
  gate(const gate &) = delete;
  gate &operator=(const gate &) = delete;
  ~gate() { test_gate_destroy(&c); }
  void stand() { test_gate_task(&c); }
  bool await(std::uint32_t count) { return test_gate_await(&c, count); }
  void let(std::uint32_t count) { test_gate_let(&c, count); }
};

/// A pool all of whose workers stand in a gate until let() or the end.
struct held_pool {
  gate door; // first: it outlives the pool
  ws::pool pool;
  std::uint32_t held;

  held_pool(std::uint32_t workers, const ws_settings_t &settings) : pool(settings), held(workers)
  {
    for (std::uint32_t i = 0; i < workers; i++)
      pool.push([this] { door.stand(); });
    CU_ASSERT_TRUE_FATAL(door.await(workers));
  }
  explicit held_pool(std::uint32_t workers) : held_pool(workers, settings_of(workers)) {}
  ~held_pool() { let(); }
  void let()
  {
    door.let(held);
    held = 0;
  }
  /// @brief Abort the pool, and let the workers go when that has begun. @return as ws::pool::stop()
  std::int64_t abort()
  {
    std::thread opener([this] {
      while (pool.try_push([] {}) != -ECANCELED) // until it has begun; a full queue does not show that
        std::this_thread::yield();
      let();
    });
    const std::int64_t skipped = pool.stop(WS_STOP_ABORT);
    opener.join();
    return skipped;
  }
};

/// Counts its objects. The copy or move that brings throws_in to 0 throws.
struct watched {
  static inline std::atomic<int> alive{0}, throws_in{0};
  int value;
  watched(int of = 0) : value(of) { alive++; }
  watched(const watched &other) : value(other.value)
  {
    check();
    alive++;
  }
  watched &operator=(const watched &other)
  {
    check();
    value = other.value;
    return *this;
  }
  ~watched() { alive--; }
  static void check()
  {
#if WS_EXCEPTIONS
    if (--throws_in == 0)
      throw std::range_error("of a copy");
#endif
  }
};

/// @return fibers that wait right now
inline std::uint64_t parked()
{
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  return stats.parked;
}

/// @return false when fewer than @p count fibers wait after the deadline
inline bool await_parked(std::uint64_t count)
{
  const auto are_parked = [](void *wanted) { return parked() == *static_cast<std::uint64_t *>(wanted); };
  return test_until(are_parked, &count);
}

template <typename T>
constexpr bool is_duration = false;
template <typename Rep, typename Period>
constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;

/// A callable that takes a time limit of any kind: TIMED(group.wait, limit) calls wait_for() or wait_until().
#define TIMED(call, ...)                                                                                     \
  [&](auto limit) {                                                                                          \
    if constexpr (is_duration<decltype(limit)>)                                                              \
      return call##_for(__VA_ARGS__);                                                                        \
    else                                                                                                     \
      return call##_until(__VA_ARGS__);                                                                      \
  }

/// @return whether @p wait returns false at each limit that is over, or soon is
template <typename Wait>
bool ends_at_limits(Wait wait)
{
  return !wait(0s) && !wait(-1h) && !wait(1ms) && !wait(steady_clock::now() + 1ms)
         && !wait(system_clock::now() + 1ms) && !wait(steady_clock::time_point::min())
         && !wait(system_clock::time_point::min());
}

/// @return whether @p wait returns true within each limit, also if it is too long to count
template <typename Wait>
bool ends_within_limits(Wait wait)
{
  return wait(1h) && wait(std::chrono::hours::max()) && wait(std::chrono::duration<double>::max())
         && wait(steady_clock::now() + 1h) && wait(steady_clock::time_point::max())
         && wait(system_clock::now() + 1h) && wait(system_clock::time_point::max());
}

/// @return 0; SKIPPED: @p body throws ws::cancelled; the code of a std::system_error; OTHER: another one
enum { SKIPPED = -1, OTHER = -2 };
template <typename Body>
int end_of(Body &&body)
{
#if WS_EXCEPTIONS
  try {
    body();
  } catch (const ws::cancelled &) {
    return SKIPPED;
  } catch (const std::system_error &error) {
    return error.code().value();
  } catch (...) {
    return OTHER;
  }
#else
  body();
#endif
  return 0;
}

#if WS_EXCEPTIONS
/// @return whether @p body throws an @p Error, and nothing else
template <typename Error, typename Body>
bool throws(Body &&body)
{
  try {
    body();
  } catch (const Error &) {
    return true;
  } catch (...) {
  }
  return false;
}
#endif

/// A call that must end the process, or whose pool must, which has one worker.
struct death {
  const char *message; ///< on stderr
  void (*call)(ws::pool &pool);
};

[[noreturn]] inline void report_terminate()
{
#if WS_EXCEPTIONS
  try {
    if (std::current_exception())
      std::rethrow_exception(std::current_exception());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "terminated by: %s\n", error.what());
  }
#endif
  std::abort();
}

/// @return whether abort() ends a process that makes the call, with the message. No pool may be running
inline bool dies(const death &of)
{
  static const death *current;
  current = &of;
  const auto call = [] {
    ws::pool pool(settings_of(1));
    std::set_terminate(report_terminate);
    static_cast<void>(
        end_of([&pool] { current->call(pool); })); // no handler of the caller gets the exception
  };
  return dies_with(call, of.message);
}

/// A case of calls that end the process: DEATHS(name, {message, call}, ...)
#define DEATHS(name, ...)                                                                                    \
  FORK_CASE(name)                                                                                            \
  {                                                                                                          \
    static const death deaths[] = {__VA_ARGS__};                                                             \
    for (const death &of : deaths)                                                                           \
      CU_ASSERT_TRUE(dies(of));                                                                              \
  }

#endif
