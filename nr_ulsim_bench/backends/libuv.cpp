// SPDX-License-Identifier: BSD-3-Clause
// libuv's worker threads. Each task needs a request of its own, and its end is a callback on the producer's
// loop: both are part of the cost.
#include <uv.h>

#include <cstdlib>
#include <string>

#include "pool.hpp"

namespace {

struct UvPool;

struct Request {
  uv_work_t work; // first, so that libuv's pointer is one to this
  const bench_task_t *task;
  UvPool *pool;
};

struct UvPool {
  uv_loop_t loop;
  std::vector<Request> requests;
  std::vector<Request *> free; ///< producer only

  explicit UvPool(const bench_settings_t &settings) : requests(settings.tasks_max)
  {
    setenv("UV_THREADPOOL_SIZE", std::to_string(settings.workers).c_str(),
           1); // read when the first work is queued
    uv_loop_init(&loop);
    for (Request &request : requests)
      free.push_back(&request);
  }
  ~UvPool() { uv_loop_close(&loop); }
  void push(const bench_task_t *task)
  {
    Request *const request = free.back();
    free.pop_back();
    request->task = task;
    request->pool = this;
    uv_queue_work(
        &loop, &request->work,
        [](uv_work_t *work) {
          const bench_task_t *const own = reinterpret_cast<Request *>(work)->task;
          own->func(own->arg);
        },
        [](uv_work_t *work, int) {
          auto *const done = reinterpret_cast<Request *>(work);
          done->pool->free.push_back(done);
        });
  }
  void wait() { uv_run(&loop, UV_RUN_DEFAULT); }
};

} // namespace

BENCH_POOL(UvPool, .version = BENCH_VERSION_TEXT(UV_VERSION_MAJOR, UV_VERSION_MINOR, UV_VERSION_PATCH));
