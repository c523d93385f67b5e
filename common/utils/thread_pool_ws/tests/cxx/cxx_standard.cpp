// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_standard.cpp
/// The part of test_cxx_standard.cpp that is built for C++17.
#include "cxx_standard.hpp"

ws::future<int> submit_17(ws::pool &pool, int number)
{
  ws::stop_source source; // not the type of C++20
  return pool.submit([number] { return number + 1; }, source.get_token());
}

void run_17(ws::pool &pool, ws::group &group, std::atomic<int> &count)
{
  group.run(pool, [&count] { count++; });
  ws::parallel_for(pool, 0, 10, [&count](int) { count++; });
}

std::uint32_t cancel_17(ws::key &key)
{
  return key.cancel();
}

long standard_17()
{
  return __cplusplus;
}
