// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_plugin.hpp
/// Between test_cxx_plugin.cpp and the library that it loads.
#ifndef CXX_PLUGIN_HPP
#define CXX_PLUGIN_HPP

#include <memory>

#include "../../include/ws_pool.hpp"

/// Functions of the library: each pushes one task, which keeps @c owned until it ends.
struct plugin {
  ws::future<int> (*submit)(ws::pool &pool, std::shared_ptr<int> owned);
  void (*submit_to)(ws::pool &pool, std::shared_ptr<int> owned, std::promise<int> *promise);
  void (*push)(ws::pool &pool, std::shared_ptr<int> owned);
  void (*run)(ws::pool &pool, ws::group &group, std::shared_ptr<int> owned);
  ws::future<int> (*submit_fiber)(ws::pool &pool, std::shared_ptr<int> owned); ///< null = no fibers
};

#define PLUGIN_NAME "test_plugin"

#endif
