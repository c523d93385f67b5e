// SPDX-License-Identifier: BSD-3-Clause
// Fibers of this pool, on one worker; Boost.Fiber is in latch_boost.cpp.
#include "latch_costs.hpp"

#include "ws_fiber.h"
#include "ws_sync.h"

namespace {

ws_pool_t *pool;

struct Own {
  struct Mutex {
    ws_mutex_t of{};
    void lock() { ws_mutex_lock(&of); }
    void unlock() { ws_mutex_unlock(&of); }
  };

  static void yield() { ws_yield(); }
  static void sleep_until(uint64_t ns) { ws_sleep_until(ns); }

  class Fibers {
   public:
    explicit Fibers(uint32_t count) : count_(count) { ws_group_init(&group_, count_); }

    template <class Func>
    void start(Func &func)
    {
      const auto call = [](void *arg) { (*static_cast<Func *>(arg))(); };
      if (ws_fiber_push(pool, call, &func, &group_, nullptr) != 0) {
        ws_group_complete(&group_, 1);
        good_ = false;
      }
    }

    /// Outside of a fiber the caller waits without the pool, so that all of them run on the worker.
    bool join()
    {
      ws_group_wait(&group_, ws_worker_index() < 0 ? nullptr : pool);
      ws_group_init(&group_, count_);
      return good_;
    }

   private:
    uint32_t count_;
    bool good_ = true;
    ws_group_t group_;
  };
};

} // namespace

void costs_ws(report_t *report, uint32_t count)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  settings.fifo = true;
  if (ws_pool_create(&pool, &settings) < 0) {
    report_error(report, "the pool could not be created");
    return;
  }
  report_costs<Own>(report, "this project", count);
  ws_pool_destroy(pool);
}
