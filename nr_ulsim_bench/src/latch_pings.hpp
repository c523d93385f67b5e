// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_pings.hpp
/// The measurements of latch_costs.h, for a library of fibers. It has yield(), sleep_until(ns), a Mutex, and
/// Fibers(count): start(func) starts one of so many, join() waits for all, and they may be started again.
/// Fibers outside of a fiber run on one thread.
#ifndef LATCH_PINGS_HPP
#define LATCH_PINGS_HPP

#include <vector>

extern "C" {
#include "clock.h"
#include "latch_costs.h"
}

/// Two fibers that take turns.
template <class Library>
struct Pair {
  typename Library::Mutex mutex;
  const void *last = nullptr; ///< fiber that locked last
  uint32_t in_a_row = 0; ///< locks by the fiber that had locked before
  uint32_t begun = 0;
  uint64_t begin_ns = 0, end_ns = 0;

  /// The time counts from the moment when both fibers have begun.
  void begin()
  {
    begun++;
    while (begun < 2)
      Library::yield();
    if (begin_ns == 0)
      begin_ns = clock_now_ns();
  }

  void end() { end_ns = clock_now_ns(); }
};

template <class Library>
struct Pings {
  /// @return ns from the begin to the end; 0 = failed
  template <class Func>
  static double time_two(const Pair<Library> &pair, Func &func)
  {
    typename Library::Fibers fibers(2);
    fibers.start(func);
    fibers.start(func);
    return fibers.join() ? static_cast<double>(pair.end_ns - pair.begin_ns) : 0;
  }

  static double yield(uint32_t count)
  {
    Pair<Library> pair;
    auto yields = [&pair, count] {
      pair.begin();
      for (uint32_t i = 0; i < count; i++)
        Library::yield();
      pair.end();
    };
    return time_two(pair, yields) / (2.0 * count);
  }

  static double hand_over(uint32_t count)
  {
    Pair<Library> pair;
    auto locks = [&pair, count] {
      const char own = 0;
      pair.begin();
      for (uint32_t i = 0; i < count; i++) {
        pair.mutex.lock();
        pair.in_a_row += pair.last == &own;
        pair.last = &own;
        Library::yield();
        pair.mutex.unlock();
        Library::yield();
      }
      pair.end();
    };
    const double ns = time_two(pair, locks);
    return pair.in_a_row > count / 100 + 1 ? 0 : ns / (2.0 * count);
  }

  /// The first tenth maps the stacks.
  static double spawn(uint32_t count, uint32_t at_once)
  {
    const uint32_t batches = count / at_once, warm = batches / 10;
    uint64_t begin_ns = 0, end_ns = 0;
    bool good = true;
    auto nothing = [] {};
    auto spawns = [&] {
      typename Library::Fibers children(at_once);
      for (uint32_t batch = 0; good && batch < batches; batch++) {
        if (batch == warm)
          begin_ns = clock_now_ns();
        for (uint32_t i = 0; i < at_once; i++)
          children.start(nothing);
        good = children.join();
      }
      end_ns = clock_now_ns();
    };
    typename Library::Fibers parent(1);
    parent.start(spawns);
    return parent.join() && good ? static_cast<double>(end_ns - begin_ns) / ((batches - warm) * at_once) : 0;
  }

  static bool sleep(const uint64_t *deadline_ns, uint64_t *late_ns, uint32_t count)
  {
    struct Sleeper {
      uint64_t deadline_ns, *late_ns;
      void operator()() const
      {
        Library::sleep_until(deadline_ns);
        *late_ns = clock_now_ns() - deadline_ns;
      }
    };
    std::vector<Sleeper> sleepers;
    for (uint32_t i = 0; i < count; i++)
      sleepers.push_back({deadline_ns[i], &late_ns[i]});
    typename Library::Fibers fibers(count);
    for (Sleeper &sleeper : sleepers)
      fibers.start(sleeper);
    return fibers.join();
  }

  static constexpr ping_t table(const char *version) { return {version, yield, hand_over, spawn, sleep}; }
};

#endif
