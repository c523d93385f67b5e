// SPDX-License-Identifier: BSD-3-Clause
// Fibers of this pool, on one worker; Boost.Fiber is in latch_boost.cpp.
#include <cstdlib>

#include "latch_pings.hpp"
#include "ws_fiber.h"
#include "ws_sync.h"

extern "C" {
#include "module.h"
#include "usage.h"
}

#define AT_ONCE 100
#define FIRST_MS 500 // for all fibers to sleep before the first of them is due

namespace {

struct Own {
  struct Mutex {
    ws_mutex_t of{};
    void lock() { ws_mutex_lock(&of); }
    void unlock() { ws_mutex_unlock(&of); }
  };

  static void yield() { ws_yield(); }
  static void sleep_until(uint64_t ns) { ws_sleep_until(ns); }

  /// Outside of a fiber they have a pool of their own, and the caller waits without it, so that all of them
  /// run on the worker.
  class Fibers {
   public:
    explicit Fibers(uint32_t count) : count_(count), outer_(ws_worker_index() < 0)
    {
      ws_settings_t settings;
      ws_settings_default(&settings);
      settings.workers = 1;
      settings.fifo = true;
      if (outer_ && ws_pool_create(&pool, &settings) < 0)
        pool = nullptr;
      ws_group_init(&group_, count_);
    }

    template <class Func>
    void start(Func &func)
    {
      const auto call = [](void *arg) { (*static_cast<Func *>(arg))(); };
      if (ws_fiber_push(pool, call, &func, &group_, nullptr) != 0) {
        ws_group_complete(&group_, 1);
        good_ = false;
      }
    }

    /// @return whether all could be started
    bool join()
    {
      ws_group_wait(&group_, outer_ ? nullptr : pool);
      ws_group_init(&group_, count_);
      if (outer_ && pool)
        ws_pool_destroy(pool);
      return good_;
    }

   private:
    static inline ws_pool_t *pool;
    uint32_t count_;
    bool outer_, good_ = true;
    ws_group_t group_;
  };
};

const ping_t ping_ws = Pings<Own>::table("this project");

/// Deadlines at equal distances, in an order drawn by chance.
void spread(uint64_t *deadline_ns, const cost_request_t *request)
{
  const uint64_t first_ns = clock_now_ns() + FIRST_MS * UINT64_C(1000000);
  const uint64_t spread_ns = static_cast<uint64_t>(request->spread_ms) * 1000000;
  unsigned int random = 1;
  for (uint32_t i = 0; i < request->sleepers; i++) {
    const uint32_t j = static_cast<uint32_t>(rand_r(&random)) % (i + 1);
    deadline_ns[i] = deadline_ns[j];
    deadline_ns[j] = first_ns + spread_ns * i / request->sleepers;
  }
}

/// @return whether it worked, as report_ns()
bool measure_sleep(report_t *report, const ping_t *ping, const cost_request_t *request)
{
  std::vector<uint64_t> deadline_ns(request->sleepers), late_ns(request->sleepers);
  const usage_t begin = usage_now(USAGE_PROCESS);
  spread(deadline_ns.data(), request);
  const bool good = ping->sleep(deadline_ns.data(), late_ns.data(), request->sleepers);
  report_number(report, "sleep_cpu_ms", usage_since(begin, USAGE_PROCESS).cpu_s * 1e3);
  report_percentiles(report, "late", late_ns.data(), request->sleepers);
  return good;
}

bool report_ns(report_t *report, const char *key, double ns)
{
  report_number(report, key, ns);
  return ns > 0;
}

} // namespace

void costs_measure(report_t *report, cost_of_t of, const cost_request_t *request)
{
  const uint32_t count = request->count, tenth = count / 10;
  const void *const loaded = of == COST_WS ? &ping_ws : module_load("latch_", "boost", "ping_boost", report);
  const auto *const ping = static_cast<const ping_t *>(loaded);
  if (!ping)
    return;
  report_text(report, "version", ping->version);
  report_count(report, "sleepers", request->sleepers);
  if (!report_ns(report, "yield_ns", ping->yield(count)))
    report_error(report, "the switches failed");
  else if (!report_ns(report, "hand_over_ns", ping->hand_over(tenth)))
    report_error(report, "the mutex was not passed on, or there was not enough memory");
  else if (!report_ns(report, "spawn_ns", ping->spawn(tenth, 1))
           || !report_ns(report, "spawn_many_ns", ping->spawn(tenth, AT_ONCE)))
    report_error(report, "a fiber could not be started");
  else if (!measure_sleep(report, ping, request))
    report_error(report, "the fibers that sleep could not be started");
}
