// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_memory.cpp
/// ws_block.hpp, ws_task.hpp: what is allocated. The program brings its own operator new, and memory for
/// blocks (--wrap=ws_os_lines, --wrap=ws_os_lines_free), which count.
/// Sanitizers have an operator new of their own: with them nothing is counted, and they look for blocks that
/// are lost.
#include <array>
#include <cstdlib>
#include <vector>

#include "cxx_scene.hpp"

static std::atomic<long> allocations_made{0}, live{0};

extern "C" {
void *__real_ws_os_lines(std::size_t bytes);
void *__wrap_ws_os_lines(std::size_t bytes);
void *__wrap_ws_os_lines(std::size_t bytes)
{
  allocations_made++;
  live++;
  return __real_ws_os_lines(bytes);
}

void __real_ws_os_lines_free(void *memory);
void __wrap_ws_os_lines_free(void *memory);
void __wrap_ws_os_lines_free(void *memory)
{
  live--;
  __real_ws_os_lines_free(memory);
}
}

#if !TEST_SANITIZED
static void *allocate(std::size_t bytes, std::size_t alignment)
{
  allocations_made++;
  live++;
  void *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!memory)
    std::abort();
  return memory;
}

static void release(void *memory)
{
  if (memory)
    live--;
  std::free(memory);
}

void *operator new(std::size_t bytes)
{
  return allocate(bytes, alignof(std::max_align_t));
}
void *operator new(std::size_t bytes, std::align_val_t alignment)
{
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void *memory) noexcept
{
  release(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
  release(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept
{
  release(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept
{
  release(memory);
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

/// A callable of so many bytes, which adds 1 to a counter.
template <std::size_t Bytes>
struct sized {
  long *calls;
  std::array<char, Bytes - sizeof(long *)> rest = {};
  explicit sized(long *counter) : calls(counter) {}
  void operator()() { ++*calls; }
};

template <std::size_t Bytes>
static long task_of(long *calls)
{
  static_assert(sizeof(sized<Bytes>) == Bytes);
  return allocations_of([&] {
    ws::task task(sized<Bytes>{calls});
    ws::task moved(std::move(task));
    moved();
  });
}

static void task_allocates_above_48_bytes()
{
  long calls = 0, first[4] = {}, again[4] = {};
  on_new_thread([&] {
    first[0] = task_of<16>(&calls);
    first[1] = task_of<48>(&calls);
    first[2] = task_of<56>(&calls);
    first[3] = task_of<512>(&calls);
    again[2] = task_of<56>(&calls);
    again[3] = task_of<512>(&calls);
  });
  CU_ASSERT_EQUAL(calls, 6);
  CU_ASSERT_TRUE(is_count(first[0], 0));
  CU_ASSERT_TRUE(is_count(first[1], 0));
  CU_ASSERT_TRUE(is_count(first[2], 2)); // the thread's shelf for the size, and a block
  CU_ASSERT_TRUE(is_count(first[3], 1)); // beyond the sizes of the shelves
  CU_ASSERT_TRUE(is_count(again[2], 0));
  CU_ASSERT_TRUE(is_count(again[3], 1));
}

struct alignas(64) line {
  char bytes[64];
};

static void task_of_strict_alignment()
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

#define BURST 100

/// So many submits of each kind.
static void burst(ws::pool &pool, std::vector<ws::future<int>> &futures, std::atomic<int> &ran, int count)
{
  ws::group group;
  for (int i = 0; i < count; i++) {
    futures.push_back(pool.submit([i] { return i; }));
    pool.push([&ran, a = 1L, b = 2L, c = 3L, d = 4L, e = 5L] { ran += a + b + c + d + e == 15; });
    group.run(pool, [&ran] { ran++; });
  }
  group.wait();
  long sum = 0;
  for (ws::future<int> &future : futures)
    sum += future.get();
  CU_ASSERT_EQUAL(sum, count * (count - 1) / 2);
  futures.clear();
  pool.wait();
}

static bool is_full(void *pool)
{
  return test_stats(static_cast<ws_pool_t *>(pool)).queued_tasks >= 4 * BURST;
}

static void submits_in_the_steady_state_allocate_nothing()
{
  std::atomic<int> ran{0};
  std::vector<ws::future<int>> futures;
  futures.reserve(2 * BURST);
  held_pool scene(2);
  std::thread opener([&scene] { // more blocks are in use at once now than later: 4 / 3 of them
    test_until(is_full, scene.pool.native());
    scene.let();
  });
  burst(scene.pool, futures, ran, 2 * BURST);
  opener.join();
  const long allocations = allocations_of([&] {
    for (int round = 0; round < 10; round++)
      burst(scene.pool, futures, ran, BURST);
  });
  CU_ASSERT_TRUE(is_count(allocations, 0));
  CU_ASSERT_EQUAL(ran, 2 * (2 * BURST + 10 * BURST));
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

static void blocks_outlive_their_thread()
{
  const long before = live;
  std::atomic<int> ran{0};
  on_new_thread([&ran] { push_and_end(ran); });
  CU_ASSERT_EQUAL(ran, 2 * BURST);
  CU_ASSERT_TRUE(is_count(live, before)); // all threads have ended: nothing is left
}

static void threads_return_blocks_at_once()
{
  std::atomic<int> ran{0};
  const long before = live;
  on_new_thread([&ran] {
    ws::pool pool(settings_of(3));
    for (int round = 0; round < 50; round++) {
      for (int i = 0; i < BURST; i++)
        pool.push([&ran] { ran++; });
      pool.wait();
    }
  });
  CU_ASSERT_EQUAL(ran, 50 * BURST);
  CU_ASSERT_TRUE(is_count(live, before)); // pool and thread have ended: nothing is left
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

static void submits_at_the_end_of_a_thread()
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

TEST_SUITE(memory, TEST_CASE(task_allocates_above_48_bytes), TEST_CASE(task_of_strict_alignment),
           TEST_CASE(submits_in_the_steady_state_allocate_nothing), TEST_CASE(blocks_outlive_their_thread),
           TEST_CASE(threads_return_blocks_at_once), TEST_CASE(submits_at_the_end_of_a_thread))
