// SPDX-License-Identifier: BSD-3-Clause
// GLib's GThreadPool, exclusive, so that its threads start at creation. It has no wait but the one that frees
// it.
#include <cstdint>
#include <glib.h>

#include "pool.hpp"

namespace {

struct GlibPool {
  CountedBurst burst;
  GThreadPool *threads;

  explicit GlibPool(const bench_settings_t &settings)
      : threads(g_thread_pool_new(run_task, &burst, static_cast<gint>(settings.workers), TRUE, nullptr))
  {
  }
  ~GlibPool() { g_thread_pool_free(threads, FALSE, TRUE); }
  static void run_task(gpointer task, gpointer burst)
  {
    static_cast<CountedBurst *>(burst)->run(static_cast<const bench_task_t *>(task));
  }
  void arm(uint32_t count) { burst.arm(count); }
  void push(const bench_task_t *task)
  {
    g_thread_pool_push(threads, const_cast<bench_task_t *>(task), nullptr);
  }
  void wait() { burst.wait(); }
};

} // namespace

BENCH_POOL(GlibPool,
           .version = BENCH_VERSION_TEXT(GLIB_MAJOR_VERSION, GLIB_MINOR_VERSION, GLIB_MICRO_VERSION));
