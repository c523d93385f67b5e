// SPDX-License-Identifier: BSD-3-Clause
// Boost.Fiber with its default scheduler, round robin on the calling thread.
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <new>
#include <vector>

#include "clock.h"
#include "latch_costs.h"

namespace fibers = boost::fibers;

namespace {

constexpr std::size_t stack_bytes = 65536;

fibers::fiber start(fibers::pooled_fixedsize_stack &stacks, const std::function<void()> &func)
{
  return fibers::fiber(fibers::launch::post, std::allocator_arg, stacks, func);
}

double run_two(const std::function<void()> &func, std::uint32_t count)
{
  fibers::pooled_fixedsize_stack stacks(stack_bytes);
  fibers::fiber one = start(stacks, func), two = start(stacks, func);
  const std::uint64_t begin_ns = clock_now_ns();
  one.join();
  two.join();
  return static_cast<double>(clock_now_ns() - begin_ns) / (2.0 * count);
}

double yields(std::uint32_t count)
{
  return run_two(
      [count] {
        for (std::uint32_t i = 0; i < count; i++)
          boost::this_fiber::yield();
      },
      count);
}

double hands_over(std::uint32_t count)
{
  fibers::mutex mutex;
  fibers::fiber::id last;
  std::uint32_t in_a_row = 0;
  const double ns = run_two(
      [&] {
        const fibers::fiber::id own = boost::this_fiber::get_id();
        for (std::uint32_t i = 0; i < count; i++) {
          mutex.lock();
          in_a_row += last == own;
          last = own;
          boost::this_fiber::yield();
          mutex.unlock();
          boost::this_fiber::yield();
        }
      },
      count);
  return in_a_row > count / 100 + 1 ? 0 : ns;
}

double spawns(std::uint32_t count, std::uint32_t at_once)
{
  fibers::pooled_fixedsize_stack stacks(stack_bytes);
  std::vector<fibers::fiber> fiber(at_once);
  const std::uint32_t batches = count / at_once, warm = batches / 10;
  std::uint64_t begin_ns = clock_now_ns();
  for (std::uint32_t batch = 0; batch < batches; batch++) {
    if (batch == warm)
      begin_ns = clock_now_ns();
    for (fibers::fiber &each : fiber)
      each = start(stacks, [] {});
    for (fibers::fiber &each : fiber)
      each.join();
  }
  return static_cast<double>(clock_now_ns() - begin_ns) / (static_cast<double>(batches - warm) * at_once);
}

bool sleeps(const std::uint64_t *deadline_ns, std::uint64_t *late_ns, std::uint32_t count)
{
  using steady = std::chrono::steady_clock; // CLOCK_MONOTONIC
  fibers::pooled_fixedsize_stack stacks(stack_bytes);
  std::vector<fibers::fiber> fiber;
  try {
    for (std::uint32_t i = 0; i < count; i++)
      fiber.push_back(start(stacks, [at_ns = deadline_ns[i], late = &late_ns[i]] {
        boost::this_fiber::sleep_until(steady::time_point(std::chrono::nanoseconds(at_ns)));
        *late = clock_now_ns() - at_ns;
      }));
  } catch (const std::bad_alloc &) {
    for (fibers::fiber &each : fiber)
      each.join();
    return false;
  }
  for (fibers::fiber &each : fiber)
    each.join();
  return true;
}

} // namespace

extern "C" __attribute__((visibility("default")))
const ping_t ping_boost = {BOOST_LIB_VERSION, yields, hands_over, spawns, sleeps};
