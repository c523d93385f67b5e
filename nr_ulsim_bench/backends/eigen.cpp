// SPDX-License-Identifier: BSD-3-Clause
// Eigen's non-blocking ThreadPool and its Barrier. A push into a full queue runs the task in the producer.
#include <memory>
#include <unsupported/Eigen/CXX11/ThreadPool>

#include "bench_backend.h"

namespace {

struct EigenPool {
  explicit EigenPool(uint32_t workers) : threads(static_cast<int>(workers)) {}
  Eigen::ThreadPool threads;
  std::unique_ptr<Eigen::Barrier> barrier;
};

EigenPool *self(void *pool)
{
  return static_cast<EigenPool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  return new EigenPool(settings->workers);
}

void arm(void *pool, uint32_t count)
{
  self(pool)->barrier = std::make_unique<Eigen::Barrier>(count); // good for one wait only
}

void push(void *pool, const bench_task_t *task)
{
  Eigen::Barrier *const barrier = self(pool)->barrier.get();
  self(pool)->threads.Schedule([barrier, task] {
    task->func(task->arg);
    barrier->Notify();
  });
}

void wait_all(void *pool)
{
  self(pool)->barrier->Wait();
}

void destroy(void *pool)
{
  delete self(pool);
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(world, major, minor) TEXT_OF(world) "." TEXT_OF(major) "." TEXT_OF(minor)

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = VERSION_TEXT(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  backend.has_workers = true;
  backend.create = create;
  backend.arm = arm;
  backend.push = push;
  backend.wait = wait_all;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
