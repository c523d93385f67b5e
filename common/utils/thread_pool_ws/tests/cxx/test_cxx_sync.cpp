// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_sync.cpp
/// ws_sync.hpp under the wrappers of the standard library, in fibers, tasks and threads.
#include "../../include/ws_sync.hpp"

#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "../../include/ws_fiber.hpp"
#include "cxx_scene.hpp"

static_assert(!std::is_copy_constructible_v<ws::mutex> && !std::is_copy_constructible_v<ws::latch>);

/// Calls @p body of each number below @p count at once: fibers, tasks and threads in turn. The pool needs a
/// worker more than there are tasks.
template <typename Body>
static void at_once(ws::pool &pool, int count, Body body)
{
  ws::group group;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) {
    if (i % 3 == 0)
      group.run(pool, [&body, i](ws::context &) { body(i); });
    else if (i % 3 == 1)
      group.run(pool, [&body, i] { body(i); });
    else
      threads.emplace_back([&body, i] { body(i); });
  }
  for (std::thread &thread : threads)
    thread.join();
  group.wait();
}

/// @p held is locked, and @p lock is another lock of its mutex: tries in a fiber fail, with and without
/// limits, and by a cancel; then they succeed.
template <typename Held, typename Lock>
static void tries(ws::pool &pool, Held &held, Lock &lock)
{
  ws_cancel_t cancel = WS_CANCEL_INIT;
  ws::future<bool> failed = pool.submit([&](ws::context &) {
    const bool all = !lock.try_lock() && ends_at_limits(TIMED(lock.try_lock, limit));
    ws_cancel_use(&cancel);
    return all && !lock.try_lock_until(steady_clock::now() + 1h);
  });
  // the worker is free only while the last try waits, or when it has ended
  CU_ASSERT_TRUE(await_parked(1));
  ws_cancel_request(&cancel);
  CU_ASSERT_TRUE(failed.get());
  held.unlock();
  const auto try_lock = TIMED(lock.try_lock, limit);
  CU_ASSERT_TRUE(ends_within_limits([&](auto limit) {
    const bool locks = try_lock(limit);
    lock.unlock();
    return locks;
  }));
}

POOL_CASE(time_limits_and_cancels_end_tries, 1)
{
  ws::mutex mutex;
  ws::recursive_mutex recursive;
  ws::shared_mutex shared;
  std::unique_lock held(mutex), other(mutex, std::defer_lock);
  std::unique_lock held_again(recursive), again(recursive, std::defer_lock);
  std::unique_lock writes(shared, std::defer_lock);
  std::shared_lock reads(shared), reads_too(shared);
  tries(pool, held, other);
  tries(pool, held_again, again);
  reads.unlock();
  tries(pool, reads_too, writes);
  writes.lock();
  tries(pool, writes, reads);
}

/// The owner is the fiber, also after it has moved to another worker.
POOL_CASE(a_recursive_mutex_knows_its_fiber, 3)
{
  constexpr int FIBERS = 400;
  ws::recursive_mutex mutex;
  int count = 0;
  ws::group group;
  for (int i = 0; i < FIBERS; i++)
    group.run(pool, [&](ws::context &context) {
      const std::lock_guard outer(mutex);
      const int before = count;
      context.yield();
      const std::unique_lock inner(mutex, std::try_to_lock);
      count = before + (inner.owns_lock() ? 1 : 1000);
    });
  group.wait();
  CU_ASSERT_EQUAL(count, FIBERS);
}

template <typename Lock>
static bool locks(Lock &held, int how)
{
  if (how % 3 == 0)
    held.lock();
  return how % 3 == 0 || (how % 3 == 1 ? held.try_lock() : held.try_lock_for(1h));
}

POOL_CASE(a_shared_mutex_has_readers_or_a_writer, 4)
{
  constexpr int CALLERS = 9, ROUNDS = 200;
  ws::shared_mutex mutex;
  long first = 0, second = 0; // equal outside a writer
  std::atomic<int> unequal{0}, wrote{0};
  at_once(pool, CALLERS, [&](int caller) {
    for (int i = 0; i < ROUNDS; i++) {
      std::unique_lock<ws::shared_mutex> writes(mutex, std::defer_lock);
      std::shared_lock<ws::shared_mutex> reads(mutex, std::defer_lock);
      if ((caller + i) % 4 > 0) {
        unequal += locks(reads, i) && first != second;
      } else if (locks(writes, i)) {
        first++;
        ws::this_fiber::yield();
        second++;
        wrote++;
      }
    }
  });
  CU_ASSERT_EQUAL(unequal, 0);
  CU_ASSERT_TRUE(first == wrote && second == wrote);
}

/// Two readers are inside at once. A writer that waits goes before a reader that comes later.
POOL_CASE(readers_and_writers_take_turns, 1)
{
  ws::shared_mutex mutex;
  std::string order;
  std::shared_lock first(mutex), second(mutex);
  ws::group group;
  group.run(pool, [&](ws::context &) {
    const std::lock_guard held(mutex);
    order += 'w';
  });
  CU_ASSERT_TRUE(await_parked(1));
  group.run(pool, [&](ws::context &) {
    const std::shared_lock held(mutex);
    order += 'r';
  });
  CU_ASSERT_TRUE(await_parked(2));
  CU_ASSERT_FALSE(mutex.try_lock_shared());
  first.unlock();
  CU_ASSERT_TRUE(order.empty());
  second.unlock();
  group.wait();
  CU_ASSERT_EQUAL(order, "wr");
}

CASE(conditions_are_waited_for)
{
  ws::mutex mutex;
  ws::condition_variable changed;
  std::unique_lock<ws::mutex> held(mutex);
  const auto status = TIMED(changed.wait, held, limit);
  CU_ASSERT_TRUE(ends_at_limits([&](auto limit) { return status(limit) != std::cv_status::timeout; }));
  CU_ASSERT_TRUE(ends_at_limits(TIMED(changed.wait, held, limit, [] { return false; })));
  CU_ASSERT_TRUE(ends_within_limits(TIMED(changed.wait, held, limit, [] { return true; })));
  CU_ASSERT_TRUE(held.owns_lock());
}

/// Each wait that cannot return a cancel throws it, with the lock held where there is one.
POOL_CASE(cancels_are_thrown, 1)
{
  ws::mutex mutex;
  ws::condition_variable changed;
  ws::counting_semaphore<> units(0);
  ws::latch latch(1);
  ws::barrier<> barrier(2);
  ws_cancel_t cancel = WS_CANCEL_INIT;
  std::vector<ws::future<void>> ends;
  const auto cancelled = [&](auto wait) {
    ends.push_back(pool.submit([&cancel, &mutex, wait](ws::context &) {
      std::unique_lock<ws::mutex> held(mutex, std::defer_lock);
      ws_cancel_use(&cancel);
      wait(held);
    }));
  };
  const auto wait_locked = [&](std::unique_lock<ws::mutex> &held) {
    held.lock();
    changed.wait(held, [] { return false; });
  };
  const auto wait_until = [&](std::unique_lock<ws::mutex> &held) {
    held.lock();
    changed.wait_until(held, steady_clock::time_point::max());
  };
  cancelled(wait_locked);
  cancelled(wait_until);
  cancelled([&](auto &) { units.acquire(); });
  cancelled([&](auto &) { latch.wait(); });
  cancelled([&](auto &) { barrier.arrive_and_wait(); });
  CU_ASSERT_TRUE(await_parked(ends.size()));
  ws_cancel_request(&cancel);
  for (ws::future<void> &end : ends)
    CU_ASSERT_EQUAL(end_of([&] { end.get(); }), SKIPPED);
  CU_ASSERT_TRUE(mutex.try_lock()); // each has unlocked it
  mutex.unlock();
  pool.push([&](ws::context &) { latch.wait(); }); // a pushed fiber may end by it
  CU_ASSERT_TRUE(await_parked(1));
  pool.stop(WS_STOP_ABORT);
  barrier.arrive_and_wait(); // the fiber's arrival counts
}

POOL_CASE(semaphores_and_latches_count, 1)
{
  ws::binary_semaphore one(0);
  CU_ASSERT_TRUE(!one.try_acquire() && ends_at_limits(TIMED(one.try_acquire, limit)));
  one.release(7);
  CU_ASSERT_TRUE(ends_within_limits(TIMED(one.try_acquire, limit)));
  ws::latch two(2);
  pool.push([&](ws::context &) {
    one.acquire();
    two.arrive_and_wait();
  });
  CU_ASSERT_TRUE(await_parked(1));
  CU_ASSERT_FALSE(two.try_wait());
  one.release();
  two.arrive_and_wait();
  CU_ASSERT_TRUE(two.try_wait());
  pool.wait(); // the fiber may still be in its wait, which reads the latch
}

POOL_CASE(barriers_have_phases, 3)
{
  constexpr int PARTIES = 6, ROUNDS = 100;
  std::atomic<int> arrived{0}, wrong{0};
  int phases = 0;
  const auto complete = [&]() noexcept {
    wrong += arrived.exchange(0) != PARTIES;
    phases++;
  };
  ws::barrier barrier(PARTIES, complete);
  at_once(pool, PARTIES, [&](int caller) {
    for (int i = 0; i < ROUNDS; i++) {
      arrived++;
      if (caller % 2 == 0)
        barrier.arrive_and_wait();
      else
        barrier.wait(barrier.arrive());
      wrong += phases < i + 1;
    }
  });
  CU_ASSERT_TRUE(phases == ROUNDS && wrong == 0);
  ws::barrier<> smaller(2);
  smaller.arrive_and_drop();
  smaller.arrive_and_wait(); // the last of the first phase
  smaller.arrive_and_wait(); // alone
}

/// scenes/sync.c has the misuse that the functions of C report.
DEATHS(misuse_ends_the_process,
       {"ws::recursive_mutex::unlock: the caller does not own it",
        [](ws::pool &) { ws::recursive_mutex().unlock(); }},
       {"ws::shared_mutex::unlock_shared: no reader", [](ws::pool &) { ws::shared_mutex().unlock_shared(); }},
       {"ws::condition_variable::wait: the lock is not held",
        [](ws::pool &) {
          ws::mutex mutex;
          std::unique_lock<ws::mutex> lock(mutex, std::defer_lock);
          ws::condition_variable().wait(lock);
        }},
       {"ws::latch::latch: the number is below 0", [](ws::pool &) { ws::latch latch(-1); }},
       {"ws::barrier::barrier: the number of parties is below 0",
        [](ws::pool &) { ws::barrier<> barrier(-1); }},
       {"ws::barrier::arrive: more callers than parties",
        [](ws::pool &) { static_cast<void>(ws::barrier<>(1).arrive(2)); }})
