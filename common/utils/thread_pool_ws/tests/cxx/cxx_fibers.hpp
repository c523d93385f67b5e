// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_fibers.hpp
/// What the C++ tests of fibers share: how many fibers wait right now.
#ifndef CXX_FIBERS_HPP
#define CXX_FIBERS_HPP

#include "cxx_scene.hpp"

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

#endif
