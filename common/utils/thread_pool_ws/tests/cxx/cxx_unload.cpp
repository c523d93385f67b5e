// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_unload.cpp
/// A library with a pool of its own in a static object, which ends when the library is unloaded, and a thread
/// of its own, which the program ends before.
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "../../include/ws_pool.hpp"
#include "cxx_unload.h"

namespace {

void count_end(void *ended, const ws_observation_t *seen)
{
  if (seen->what == WS_OBSERVED_STOP)
    reinterpret_cast<void (*)()>(ended)();
}

ws::pool &pool_of_library(void (*ended)())
{
  static ws::pool pool([ended] {
    ws_settings_t settings;
    ws_settings_default(&settings);
    settings.workers = UNLOAD_WORKERS;
    settings.live = true;
    settings.deadline_ns = 1; // its rings stay
    settings.observer = count_end;
    settings.observer_arg = reinterpret_cast<void *>(ended);
    return settings;
  }());
  return pool;
}

ws_group_t open_group;
std::thread waiter; ///< waits for it in the pool

} // namespace

extern "C" int unload_work(void (*ended)());
extern "C" void unload_end();

extern "C" void unload_end()
{
  ws_group_complete(&open_group, 1);
  waiter.join();
}

/// Each part of the headers that keeps something, or that the compiler makes an object for.
extern "C" int unload_work(void (*ended)())
{
  ws::pool &pool = pool_of_library(ended);
  ws_group_init(&open_group, 1);
  waiter = std::thread([&pool] { ws_group_wait(&open_group, pool.native()); });
  std::atomic<int> sum{0};
  ws::group group;
  ws::key key;
  ws::stop_source source;
  pool.push(ws::task([&sum] { sum++; }));
  pool.push(ws::task([&sum, wide = std::array<char, 300>()] { sum += 1 + wide[299]; }));
  for (int i = 0; i < 10; i++)
    group.run(pool, [&sum] { sum++; });
  group.wait();
  ws::parallel_for(pool, 0, 10, [&sum](int) { sum++; });
  const auto one = [](int) { return 1; };
  sum += ws::parallel_reduce(pool, 0, 10, 0, one, std::plus<>());
  sum += pool.submit([] { return 1; }, source.get_token()).get();
  sum += pool.submit([] { return 1; }, key).get();
  std::promise<int> plain;
  pool.submit([] { return 1; }, &plain);
  sum += plain.get_future().get();
  ws::promise<int> promise;
  ws::future<int> next = promise.get_future().then(pool, [](int value) { return value; });
  promise.set_value(1);
  sum += next.get();
  try {
    pool.submit([]() -> int { throw ws::cancelled(); }).get();
  } catch (const ws::cancelled &) {
    sum++;
  }
#if WS_TEST_FIBERS
  sum += pool.submit([](ws::context &context) {
               context.yield();
               return 0;
             })
             .get();
#endif
  pool.wait();
  return sum;
}
