// SPDX-License-Identifier: BSD-3-Clause
// Boost.Fiber with its default scheduler, round robin on the calling thread.
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include <chrono>
#include <functional>
#include <new>

#include "latch_costs.hpp"

namespace {

struct Boost {
  using Mutex = boost::fibers::mutex;

  static void yield() { boost::this_fiber::yield(); }

  static void sleep_until(uint64_t ns)
  {
    using steady = std::chrono::steady_clock; // CLOCK_MONOTONIC
    boost::this_fiber::sleep_until(steady::time_point(std::chrono::nanoseconds(ns)));
  }

  class Fibers {
   public:
    explicit Fibers(uint32_t count) { fibers_.reserve(count); }

    template <class Func>
    void start(Func &func)
    {
      try {
        fibers_.emplace_back(boost::fibers::launch::post, std::allocator_arg, stacks_, std::ref(func));
      } catch (const std::bad_alloc &) {
        good_ = false;
      }
    }

    bool join()
    {
      for (boost::fibers::fiber &fiber : fibers_)
        fiber.join();
      fibers_.clear();
      return good_;
    }

   private:
    boost::fibers::pooled_fixedsize_stack stacks_{65536};
    std::vector<boost::fibers::fiber> fibers_;
    bool good_ = true;
  };
};

} // namespace

void costs_boost(report_t *report, uint32_t count)
{
  report_costs<Boost>(report, BOOST_LIB_VERSION, count);
}
