// SPDX-License-Identifier: BSD-3-Clause
// Fibers of this pool, on one worker, and jump_fcontext alone; Boost.Fiber is in latch_boost.cpp.
#include <cstdlib>

#include "latch_pings.hpp"
#include "memory.h"
#include "module.h"
#include "usage.h"
#include "ws_fiber.h"
#include "ws_sync.h"

extern "C" {
#include "ws_fcontext.h"
}

#define STACK_BYTES 65536
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

void jump_back(transfer_t from)
{
  for (;;)
    from = jump_fcontext(from.fctx, from.data);
}

double jump_yield(uint32_t count)
{
  char *const stack = static_cast<char *>(allot(1, STACK_BYTES));
  transfer_t other = {make_fcontext(stack + STACK_BYTES, STACK_BYTES, jump_back), nullptr};
  other = jump_fcontext(other.fctx, nullptr);
  const uint64_t begin_ns = clock_now_ns();
  for (uint32_t i = 0; i < count; i++)
    other = jump_fcontext(other.fctx, nullptr);
  return static_cast<double>(clock_now_ns() - begin_ns) / (2.0 * count);
}

const ping_t ping_ws = Pings<Own>::table("this project");
/// Two contexts on one thread, and nothing between them: what no library can beat.
const ping_t ping_jump = {"jump_fcontext", jump_yield, nullptr, nullptr, nullptr};

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
  const ping_t *const ping =
      of == COST_WS     ? &ping_ws
      : of == COST_JUMP ? &ping_jump
                        : static_cast<const ping_t *>(module_load("latch_", "boost", "ping_boost", report));
  if (!ping)
    return;
  report_text(report, "version", ping->version);
  report_count(report, "sleepers", request->sleepers);
  if (!report_ns(report, "yield_ns", ping->yield(count)))
    report_error(report, "the switches failed");
  else if (ping->hand_over && !report_ns(report, "hand_over_ns", ping->hand_over(tenth)))
    report_error(report, "the mutex was not passed on, or there was not enough memory");
  else if (ping->spawn
           && (!report_ns(report, "spawn_ns", ping->spawn(tenth, 1))
               || !report_ns(report, "spawn_many_ns", ping->spawn(tenth, AT_ONCE))))
    report_error(report, "a fiber could not be started");
  else if (ping->sleep && !measure_sleep(report, ping, request))
    report_error(report, "the fibers that sleep could not be started");
}
