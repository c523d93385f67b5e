// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_plugin.cpp
/// A library that gives tasks to a pool of the program that loads it. The functions that it has compiled
/// from the C++ headers have addresses of their own.
#include "cxx_ways.hpp"

extern "C" {
extern const give_t plugin_give;
const give_t plugin_give = give;
}
