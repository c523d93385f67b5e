// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_scene.hpp
/// What the C++ tests share: pools whose workers stand in a gate, and expected exceptions.
#ifndef CXX_SCENE_HPP
#define CXX_SCENE_HPP

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "../../include/ws_pool.hpp"
#include "../support/ws_test.h"

#if defined(__SANITIZE_THREAD__)
#define CXX_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CXX_TSAN 1
#endif
#endif
#ifndef CXX_TSAN
#define CXX_TSAN 0
#endif

/// The cases of a program's files, which cxx_main.cpp runs.
inline std::vector<test_case_t> &cases_of_program()
{
  static std::vector<test_case_t> cases;
  return cases;
}

/// The cases of a file, with a name that no other file of the program uses.
#define TEST_SUITE(suite, ...)                                                                               \
  static const bool suite##_is_added = [] {                                                                  \
    cases_of_program().insert(cases_of_program().end(), {__VA_ARGS__});                                      \
    return true;                                                                                             \
  }();

inline ws_settings_t settings_of(std::uint32_t workers)
{
  return test_settings(workers);
}

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
};

/// Returns when another thread has begun to stop the pool. A queue that is full says nothing about that.
inline void await_stop(ws::pool &pool)
{
  while (pool.try_push([] {}) != -ECANCELED)
    std::this_thread::yield();
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

/// @return the code of the std::system_error that @p body throws; 0 = it throws none
template <typename Body>
int error_of(Body &&body)
{
  try {
    body();
  } catch (const std::system_error &error) {
    return error.code().value();
  } catch (...) {
  }
  return 0;
}
#endif

#endif
