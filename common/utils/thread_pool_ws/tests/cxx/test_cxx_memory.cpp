// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_memory.cpp
/// ws_block.hpp, ws_task.hpp: what is allocated. The program brings its own operator new, and memory for
/// blocks (--wrap=ws_os_lines, --wrap=ws_os_lines_free), which count.
/// Sanitizers have an operator new of their own: with them nothing is counted, and they look for blocks that
/// are lost.
#include <array>
#include <cstdlib>
#include <new>
#include <vector>

#include "cxx_scene.hpp"

static std::atomic<long> allocations_made{0}, live{0};

extern "C" {
TEST_WRAP(void *, ws_os_lines, (std::size_t bytes))
{
  allocations_made++;
  live++;
  return __real_ws_os_lines(bytes);
}

TEST_WRAP(void, ws_os_lines_free, (void *memory))
{
  live--;
  __real_ws_os_lines_free(memory);
}
}

#if !TEST_SANITIZED
// Not inlined: gcc would see a block of operator new() given to free().
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
  allocations_made++;
  live++;
  if (void *memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept
{
  live -= memory ? 1 : 0;
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
  operator delete(memory);
}
#endif

/// @return whether a count is as expected, or there are no counts
static bool is_count(long count, long expected)
{
  return TEST_SANITIZED || count == expected;
}

/// Allocations of @p body.
template <typename Body>
static long allocations_of(Body &&body)
{
  const long before = allocations_made;
  body();
  return allocations_made - before;
}

/// Run @p body on a thread of its own, which has no free block yet.
template <typename Body>
static void on_new_thread(Body &&body)
{
  std::thread(std::forward<Body>(body)).join();
}

/// A callable of so many bytes, which adds 1 to a counter. @return allocations
template <std::size_t Bytes>
static long task_of(long *calls)
{
  const auto callable = [calls, rest = std::array<char, Bytes - sizeof(long *)>()] { *calls += 1 + rest[0]; };
  static_assert(sizeof(callable) == Bytes);
  return allocations_of([&] {
    ws::task task(callable);
    ws::task moved(std::move(task));
    moved();
  });
}

CASE(task_allocates_above_48_bytes)
{
  static_assert(ws::task::inside_max == 48 && !std::is_copy_constructible_v<ws::task>);
  const std::array<long, 6> wanted = {0, 0, 2, 1, 0, 1}; // 2: the thread's shelf for the size, and a block
  std::array<long, 6> counts;
  long calls = 0;
  on_new_thread([&] { // 512: beyond the sizes of the shelves
    counts = {task_of<16>(&calls),  task_of<48>(&calls), task_of<56>(&calls),
              task_of<512>(&calls), task_of<56>(&calls), task_of<512>(&calls)};
  });
  CU_ASSERT_EQUAL(calls, 6);
  CU_ASSERT_TRUE(TEST_SANITIZED || counts == wanted);
}

struct alignas(64) line {
  char bytes[64];
};

CASE(task_of_strict_alignment)
{
  bool aligned = false;
  const line wide = {};
  ws::task task([&aligned, wide] { aligned = reinterpret_cast<std::uintptr_t>(&wide) % 64 == 0; });
  ws::task moved;
  moved = std::move(task);
  CU_ASSERT_FALSE(static_cast<bool>(task));
  moved();
  CU_ASSERT_FALSE(static_cast<bool>(moved)); // once
  CU_ASSERT_TRUE(aligned);
}

constexpr int BURST = 100;

/// So many submits of each kind.
static void burst(ws::pool &pool, std::vector<ws::future<int>> &futures, int count)
{
  ws::group group;
  long sum = 0;
  for (int i = 0; i < count; i++) {
    futures.push_back(pool.submit([i] { return i; }));
    pool.push([a = 1L, b = 2L, c = 3L, d = 4L, e = 5L] { static_cast<void>(a + b + c + d + e); });
    group.run(pool, [] {});
  }
  group.wait();
  for (ws::future<int> &future : futures)
    sum += future.get();
  CU_ASSERT_EQUAL(sum, count * (count - 1) / 2);
  futures.clear();
  pool.wait();
}

CASE(submits_in_the_steady_state_allocate_nothing)
{
  std::vector<ws::future<int>> futures;
  futures.reserve(2 * BURST);
  held_pool scene(2);
  std::thread opener([&scene] { // more blocks are in use at once now than later: 4 / 3 of them
    const auto is_full = [](void *of) {
      return test_stats(static_cast<ws_pool_t *>(of)).queued_tasks >= 4 * BURST;
    };
    test_until(is_full, scene.pool.native());
    scene.let();
  });
  burst(scene.pool, futures, 2 * BURST);
  opener.join();
  const long allocations = allocations_of([&] {
    for (int round = 0; round < 10; round++)
      burst(scene.pool, futures, BURST);
  });
  CU_ASSERT_TRUE(is_count(allocations, 0));
}

/// The thread that pushed ends while its tasks are queued.
static void push_and_end(std::atomic<int> &ran)
{
  held_pool scene(2);
  on_new_thread([&] {
    for (int i = 0; i < BURST; i++) {
      scene.pool.push([&ran] { ran++; });
      scene.pool.push([&ran, wide = std::array<char, 100>()] { ran += 1 + wide[99]; });
    }
  });
  scene.let();
  scene.pool.wait();
}

/// When pool and threads have ended nothing is left.
CASE(threads_return_blocks)
{
  const long before = live;
  std::atomic<int> ran{0};
  on_new_thread([&ran] { push_and_end(ran); });
  CU_ASSERT_EQUAL(ran, 2 * BURST);
  CU_ASSERT_TRUE(is_count(live, before));
}

/// Destroyed after the thread's shelves: it was made before them.
struct late_user {
  ws::pool *pool = nullptr;
  ~late_user()
  {
    if (pool)
      pool->submit([] { return std::array<char, 90>(); }).get();
  }
};

CASE(submits_at_the_end_of_a_thread)
{
  const long before = live;
  {
    ws::pool pool(settings_of(1));
    on_new_thread([&pool] {
      static thread_local late_user late;
      late.pool = &pool;
      pool.submit([] {}).get();
    });
  }
  CU_ASSERT_TRUE(is_count(live, before));
}
