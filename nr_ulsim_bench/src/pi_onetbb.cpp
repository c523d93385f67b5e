// SPDX-License-Identifier: BSD-3-Clause
// oneTBB's parallel_reduce with its default partitioner, in an arena of its workers and the caller.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <functional>

#include "pi_backend.h"

namespace {

struct TbbPool {
  explicit TbbPool(uint32_t workers)
      : limit(tbb::global_control::max_allowed_parallelism, workers + 1), arena(static_cast<int>(workers) + 1)
  {
  }
  tbb::global_control limit;
  tbb::task_arena arena;
};

void *create(const pi_settings_t *settings)
{
  return new TbbPool(settings->workers);
}

double reduce(void *pool, const pi_integral_t *integral)
{
  using Range = tbb::blocked_range<uint64_t>;
  const auto piece = [integral](const Range &range, double sum) {
    return sum + integral->sum(integral->intervals, range.begin(), range.end());
  };
  return static_cast<TbbPool *>(pool)->arena.execute(
      [&] { return tbb::parallel_reduce(Range(0, integral->intervals), 0.0, piece, std::plus<double>()); });
}

void destroy(void *pool)
{
  delete static_cast<TbbPool *>(pool);
}

pi_backend_t make_backend()
{
  pi_backend_t backend{};
  backend.version = TBB_VERSION_STRING;
  backend.create = create;
  backend.reduce = reduce;
  backend.destroy = destroy;
  return backend;
}

} // namespace

extern "C" PI_EXPORT const pi_backend_t pi_backend = make_backend();
