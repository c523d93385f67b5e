// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_standard.cpp
/// The part of test_cxx_standard.cpp that is built for C++17.
#include <atomic>
#include <cstdint>

#include "../../include/ws_pool.hpp"

static_assert(__cplusplus < 202002L, "this file is the part for C++17");

ws::future<std::uint32_t> use_17(ws::pool &pool, ws::group &group, ws::key &key, std::atomic<int> &count);

ws::future<std::uint32_t> use_17(ws::pool &pool, ws::group &group, ws::key &key, std::atomic<int> &count)
{
  const ws::stop_source source; // not the type of C++20
  group.run(pool, [&count] { count++; });
  ws::parallel_for(pool, 0, 10, [&count](int) { count++; });
  return pool.submit([cancelled = key.cancel()] { return cancelled; }, source.get_token());
}
