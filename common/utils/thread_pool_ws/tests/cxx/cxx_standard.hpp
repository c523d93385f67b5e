// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_standard.hpp
/// Between test_cxx_standard.cpp and cxx_standard.cpp, which are built for different standards.
#ifndef CXX_STANDARD_HPP
#define CXX_STANDARD_HPP

#include "../../include/ws_pool.hpp"

ws::future<int> submit_17(ws::pool &pool, int number);
void run_17(ws::pool &pool, ws::group &group, std::atomic<int> &count);
std::uint32_t cancel_17(ws::key &key);
long standard_17();

#endif
