// SPDX-License-Identifier: BSD-3-Clause
// libuv's worker threads. Each task needs a request, and its end is a callback on the producer's loop.
#include <cstddef>
#include <stdlib.h>
#include <uv.h>
#include <vector>

#include <string>

#include "pool.hpp"

namespace {

struct UvPool {
  uv_loop_t loop;
  std::vector<uv_work_t> requests;
  std::size_t used = 0; ///< since the last wait

  explicit UvPool(const bench_settings_t &settings) : requests(settings.tasks_max)
  {
    setenv("UV_THREADPOOL_SIZE", std::to_string(settings.workers).c_str(), 1); // read by the first push
    uv_loop_init(&loop);
  }
  ~UvPool() { uv_loop_close(&loop); }
  void push(const bench_task_t *task)
  {
    requests[used].data = const_cast<bench_task_t *>(task);
    const auto run = [](uv_work_t *work) {
      const auto *const own = static_cast<const bench_task_t *>(work->data);
      own->func(own->arg);
    };
    uv_queue_work(&loop, &requests[used++], run, [](uv_work_t *, int) {});
  }
  void wait()
  {
    uv_run(&loop, UV_RUN_DEFAULT);
    used = 0;
  }
};

} // namespace

BENCH_POOL(UvPool, .version = BENCH_VERSION_TEXT(UV_VERSION_MAJOR, UV_VERSION_MINOR, UV_VERSION_PATCH));
