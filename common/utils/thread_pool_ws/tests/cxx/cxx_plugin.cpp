// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_plugin.cpp
/// A library that pushes tasks to a pool of the program that loads it. The functions that it has compiled
/// from the C++ headers have addresses of their own.
#include "cxx_plugin.hpp"

namespace {

ws::future<int> submit(ws::pool &pool, std::shared_ptr<int> owned)
{
  return pool.submit([owned] { return *owned; });
}

void submit_to(ws::pool &pool, std::shared_ptr<int> owned, std::promise<int> *promise)
{
  pool.submit([owned] { return *owned; }, promise);
}

void push(ws::pool &pool, std::shared_ptr<int> owned)
{
  pool.push([owned] { ++*owned; });
}

void run(ws::pool &pool, ws::group &group, std::shared_ptr<int> owned)
{
  group.run(pool, [owned] { ++*owned; });
}

#if WS_TEST_FIBERS
ws::future<int> submit_fiber(ws::pool &pool, std::shared_ptr<int> owned)
{
  return pool.submit([owned](ws::context &context) {
    context.yield();
    return *owned;
  });
}
#else
constexpr ws::future<int> (*submit_fiber)(ws::pool &, std::shared_ptr<int>) = nullptr;
#endif

} // namespace

extern "C" {
extern const plugin test_plugin;
const plugin test_plugin = {submit, submit_to, push, run, submit_fiber};
}
