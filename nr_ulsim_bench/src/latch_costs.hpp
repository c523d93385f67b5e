// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_costs.hpp
/// What fibers of a library cost, all on one thread: a switch, a mutex that is passed on, a fiber, and many
/// that sleep. The library has yield(), sleep_until(ns), a Mutex, and Fibers(count): start(func) starts one
/// of so many, join() waits for all and returns whether they could be started, and they may be started again.
#ifndef LATCH_COSTS_HPP
#define LATCH_COSTS_HPP

#include <cstdint>
#include <cstdlib>
#include <stdlib.h>
#include <vector>

extern "C" {
#include "clock.h" // IWYU pragma: export
#include "latch_costs.h" // IWYU pragma: export
#include "usage.h" // IWYU pragma: export
}

#define AT_ONCE 100
#define FIRST_NS 500000000 // for all fibers to sleep before the first of them is due
#define SPREAD_NS UINT64_C(1000000000) // between the first deadline and the last

/// Two fibers that take turns. The time counts from the moment when both have begun.
template <class Library>
class Pair {
 public:
  /// Each calls round() so often. @return ns a call; 0 = a fiber could not be started
  template <class Round>
  double time(uint32_t count, Round round)
  {
    auto both = [&] {
      const char self = 0;
      for (begun_++; begun_ < 2;)
        Library::yield();
      begin_ns_ = begin_ns_ ? begin_ns_ : clock_now_ns();
      for (uint32_t i = 0; i < count; i++)
        round(&self);
      end_ns_ = clock_now_ns();
    };
    typename Library::Fibers fibers(2);
    fibers.start(both);
    fibers.start(both);
    return fibers.join() ? static_cast<double>(end_ns_ - begin_ns_) / (2.0 * count) : 0;
  }

 private:
  uint32_t begun_ = 0;
  uint64_t begin_ns_ = 0, end_ns_ = 0;
};

/// Lock, yield, unlock, yield: each lock finds the mutex locked, and each unlock passes it on.
/// @return ns from one lock to the next, of either fiber; 0 = failed, or a fiber locked twice in a row more
///         than now and then
template <class Library>
double hand_over_ns(uint32_t count)
{
  typename Library::Mutex mutex;
  const void *last = nullptr;
  uint32_t in_a_row = 0;
  const double ns = Pair<Library>().time(count, [&](const void *self) {
    mutex.lock();
    in_a_row += last == self;
    last = self;
    Library::yield();
    mutex.unlock();
    Library::yield();
  });
  return in_a_row > count / 100 + 1 ? 0 : ns;
}

/// A fiber starts some fibers and joins them, `count` in all. The first tenth maps the stacks.
/// @return ns a fiber; 0 = failed
template <class Library>
double spawn_ns(uint32_t count, uint32_t at_once)
{
  const uint32_t batches = count / at_once, warm = batches / 10;
  uint64_t begin_ns = 0, end_ns = 0;
  bool good = true;
  auto nothing = [] {};
  auto spawns = [&] {
    typename Library::Fibers children(at_once);
    for (uint32_t batch = 0; good && batch < batches; batch++) {
      begin_ns = batch == warm ? clock_now_ns() : begin_ns;
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

/// A fiber that sleeps once.
template <class Library>
struct Sleeper {
  uint64_t deadline_ns, late_ns;
  void operator()()
  {
    Library::sleep_until(deadline_ns);
    late_ns = clock_now_ns() - deadline_ns;
  }
};

/// Their deadlines have equal distances, in an order drawn by chance.
template <class Library>
bool report_sleep(report_t *report, uint32_t count)
{
  std::vector<Sleeper<Library>> sleepers(count);
  std::vector<uint64_t> late_ns;
  unsigned int random = 1;
  const usage_t begin = usage_now(USAGE_PROCESS);
  const uint64_t first_ns = clock_now_ns() + FIRST_NS;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t j = static_cast<uint32_t>(rand_r(&random)) % (i + 1);
    sleepers[i].deadline_ns = sleepers[j].deadline_ns;
    sleepers[j].deadline_ns = first_ns + SPREAD_NS * i / count;
  }
  typename Library::Fibers fibers(count);
  for (auto &sleeper : sleepers)
    fibers.start(sleeper);
  const bool good = fibers.join();
  report_count(report, "sleepers", count);
  report_number(report, "sleep_cpu_ms", usage_since(begin, USAGE_PROCESS).cpu_s * 1e3);
  for (const auto &sleeper : sleepers)
    late_ns.push_back(sleeper.late_ns);
  report_percentiles(report, "late", late_ns.data(), count);
  return good;
}

/// @param count  of switches; locks and fibers are a tenth of it, fibers that sleep a hundredth
template <class Library>
void report_costs(report_t *report, const char *version, uint32_t count)
{
  const double yield_ns = Pair<Library>().time(count, [](const void *) { Library::yield(); });
  const double mutex_ns = hand_over_ns<Library>(count / 10);
  const double one_ns = spawn_ns<Library>(count / 10, 1), many_ns = spawn_ns<Library>(count / 10, AT_ONCE);
  report_text(report, "version", version);
  report_number(report, "yield_ns", yield_ns);
  report_number(report, "hand_over_ns", mutex_ns);
  report_number(report, "spawn_ns", one_ns);
  report_number(report, "spawn_many_ns", many_ns);
  if (!report_sleep<Library>(report, count / 100) || !(yield_ns * mutex_ns * one_ns * many_ns > 0))
    report_error(report, "a fiber could not be started, or the mutex was not passed on");
}

#endif
