// SPDX-License-Identifier: BSD-3-Clause
// enkiTS, from the user's checkout. Each task is a set of one, since a set of n would be a loop over an
// index.
#include <TaskScheduler.h>
#include <vector>

#include "pool.hpp"

namespace {

struct Cell : enki::ITaskSet {
  const bench_task_t *task = nullptr;
  void ExecuteRange(enki::TaskSetPartition, uint32_t) override { task->func(task->arg); }
};

struct EnkiPool {
  std::vector<Cell> cells;
  uint32_t used = 0;
  enki::TaskScheduler scheduler; // after cells: its threads end before they go

  explicit EnkiPool(const bench_settings_t &settings) : cells(settings.tasks_max)
  {
    enki::TaskSchedulerConfig config;
    config.numTaskThreadsToCreate = settings.workers;
    scheduler.Initialize(config);
  }
  void push(const bench_task_t *task)
  {
    Cell &cell = cells[used++];
    cell.task = task;
    scheduler.AddTaskSetToPipe(&cell);
  }
  void wait()
  {
    for (uint32_t i = 0; i < used; i++)
      scheduler.WaitforTask(&cells[i]);
    used = 0;
  }
  void fork_join(const bench_task_t *child, const bench_task_t *own)
  {
    Cell cell;
    cell.task = child;
    scheduler.AddTaskSetToPipe(&cell);
    own->func(own->arg);
    scheduler.WaitforTask(&cell);
  }
};

} // namespace

BENCH_POOL(EnkiPool, .version = "user's checkout", .waiter_helps = true);
