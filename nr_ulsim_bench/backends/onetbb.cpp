// SPDX-License-Identifier: BSD-3-Clause
// oneTBB: a task_group in an arena of its workers and the producer, which helps while it waits. Hot = the
// whole measurement is one parallel phase, where workers stay in the arena (versions that have it; older ones
// refuse; 2022 has it as a preview).
#define TBB_PREVIEW_PARALLEL_PHASE 1
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include "bench_backend.h"

namespace {

#if TBB_INTERFACE_VERSION >= 12150
constexpr bool has_parallel_phase = true;
void start_phase(tbb::task_arena &arena)
{
  arena.start_parallel_phase();
}
void end_phase(tbb::task_arena &arena)
{
  arena.end_parallel_phase();
}
#else
constexpr bool has_parallel_phase = false;
void start_phase(tbb::task_arena &) {}
void end_phase(tbb::task_arena &) {}
#endif

struct TbbPool {
  TbbPool(uint32_t workers, bool hot_wanted)
      : limit(tbb::global_control::max_allowed_parallelism, workers + 1),
        arena(static_cast<int>(workers) + 1, 1), hot(hot_wanted)
  {
  }
  tbb::global_control limit;
  tbb::task_arena arena;
  tbb::task_group group;
  bool hot;
};

TbbPool *self(void *pool)
{
  return static_cast<TbbPool *>(pool);
}

void *create(const bench_settings_t *settings)
{
  if (settings->hot && !has_parallel_phase)
    return nullptr;
  return new TbbPool(settings->workers, settings->hot);
}

void run(void *pool, void (*body)(void *arg), void *arg)
{
  TbbPool *const tbb_pool = self(pool);
  if (tbb_pool->hot)
    start_phase(tbb_pool->arena);
  tbb_pool->arena.execute([body, arg] { body(arg); });
  if (tbb_pool->hot)
    end_phase(tbb_pool->arena);
}

void push(void *pool, const bench_task_t *task)
{
  self(pool)->group.run([task] { task->func(task->arg); });
}

void wait_all(void *pool)
{
  self(pool)->group.wait();
}

void fork_join(void *, const bench_task_t *child, const bench_task_t *own)
{
  tbb::task_group group;
  group.run([child] { child->func(child->arg); });
  own->func(own->arg);
  group.wait();
}

void destroy(void *pool)
{
  delete self(pool);
}

bench_backend_t make_backend()
{
  bench_backend_t backend{};
  backend.version = TBB_VERSION_STRING;
  backend.waiter_helps = true;
  backend.has_workers = true;
  backend.nested_push = true;
  backend.create = create;
  backend.run = run;
  backend.push = push;
  backend.wait = wait_all;
  backend.fork_join = fork_join;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" BENCH_EXPORT const bench_backend_t bench_backend = make_backend();
