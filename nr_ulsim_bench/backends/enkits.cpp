// SPDX-License-Identifier: BSD-3-Clause
// enkiTS, from the user's checkout. Each task is a set of one, since a set of n would be a loop over an
// index.
#include <TaskScheduler.h>
#include <vector>

#include "bench_backend.h"

namespace {

struct Cell : enki::ITaskSet {
  const bench_task_t *task = nullptr;
  void ExecuteRange(enki::TaskSetPartition, uint32_t) override { task->func(task->arg); }
};

struct EnkiPool {
  explicit EnkiPool(const bench_settings_t *settings) : cells(settings->tasks_max)
  {
    enki::TaskSchedulerConfig config;
    config.numTaskThreadsToCreate = settings->workers;
    scheduler.Initialize(config);
  }
  std::vector<Cell> cells;
  uint32_t used = 0;
  enki::TaskScheduler scheduler; // after cells: its threads end before they go
};

EnkiPool *self(void *pool)
{
  return static_cast<EnkiPool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  return new EnkiPool(settings);
}

void push(void *pool, const bench_task_t *task)
{
  EnkiPool *const enki_pool = self(pool);
  Cell &cell = enki_pool->cells[enki_pool->used++];
  cell.task = task;
  enki_pool->scheduler.AddTaskSetToPipe(&cell);
}

void wait_all(void *pool)
{
  EnkiPool *const enki_pool = self(pool);
  for (uint32_t i = 0; i < enki_pool->used; i++)
    enki_pool->scheduler.WaitforTask(&enki_pool->cells[i]);
  enki_pool->used = 0;
}

void fork_join(void *pool, const bench_task_t *child, const bench_task_t *own)
{
  Cell cell;
  cell.task = child;
  self(pool)->scheduler.AddTaskSetToPipe(&cell);
  own->func(own->arg);
  self(pool)->scheduler.WaitforTask(&cell);
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = "user's checkout";
  backend.waiter_helps = true;
  backend.has_workers = true;
  backend.create = create;
  backend.push = push;
  backend.wait = wait_all;
  backend.fork_join = fork_join;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
