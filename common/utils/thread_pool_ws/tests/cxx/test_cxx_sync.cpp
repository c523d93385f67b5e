// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_sync.cpp
/// ws_sync.hpp under the wrappers of the standard library, and ws_fiber.hpp: in fibers, tasks and threads.
/// Built for C++17 and C++20.
#include "../../include/ws_sync.hpp"

#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "../../include/ws_fiber.hpp"
#include "cxx_fibers.hpp"

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

/// Calls @p body of each number below @p count at once: fibers, tasks and threads in turn. The pool needs a
/// worker more than there are tasks.
template <typename Body>
void at_once(ws::pool &pool, int count, Body body)
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

void a_mutex_has_one_owner()
{
  constexpr int CALLERS = 9, ROUNDS = 300;
  ws::pool pool(settings_of(4));
  ws::mutex first, second;
  long both = 0;
  at_once(pool, CALLERS, [&](int caller) {
    for (int i = 0; i < ROUNDS; i++) {
      if (caller % 2 == 0) {
        std::scoped_lock held(first, second);
        both++;
      } else {
        std::unique_lock<ws::mutex> outer(second);
        std::unique_lock<ws::mutex> inner(first, std::try_to_lock);
        if (!inner.owns_lock() && !inner.try_lock_for(milliseconds(0)))
          i--;
        else
          both++;
        if (i % 50 == 0)
          ws::this_fiber::yield();
      }
    }
  });
  CU_ASSERT_EQUAL(both, CALLERS * ROUNDS);
}

/// @p Mutex has an owner: tries in another fiber fail, with and without limits.
template <typename Mutex>
void tries_fail(ws::pool &pool, Mutex &mutex)
{
  ws_cancel_t cancel = WS_CANCEL_INIT;
  ws::future<int> failed = pool.submit([&](ws::context &) {
    int count = 0;
    count += !mutex.try_lock();
    count += !mutex.try_lock_for(milliseconds(1));
    count += !mutex.try_lock_until(system_clock::now() + milliseconds(1));
    ws_cancel_use(&cancel);
    return count + !mutex.try_lock_until(steady_clock::now() + hours(1));
  });
  // the worker is free only while the last try waits, or when it has ended
  const auto waits = [](void *) { return parked() == 1; };
  CU_ASSERT_TRUE(test_until(waits, nullptr));
  ws_cancel_request(&cancel);
  CU_ASSERT_EQUAL(failed.get(), 4);
}

void time_limits_and_cancels_end_tries()
{
  ws::pool pool(settings_of(1));
  ws::mutex mutex;
  ws::recursive_mutex recursive;
  ws::shared_mutex shared;
  const std::scoped_lock held(mutex, recursive);
  tries_fail(pool, mutex);
  tries_fail(pool, recursive);
  {
    std::shared_lock<ws::shared_mutex> reads(shared);
    tries_fail(pool, shared);
    std::shared_lock<ws::shared_mutex> other(shared, std::try_to_lock); // the tries have left it free
    CU_ASSERT_TRUE(other.owns_lock());
  }
  CU_ASSERT_TRUE(shared.try_lock());
  CU_ASSERT_FALSE(shared.try_lock_shared());
  CU_ASSERT_FALSE(shared.try_lock_shared_for(milliseconds(1)));
  CU_ASSERT_FALSE(shared.try_lock_shared_until(steady_clock::now()));
  shared.unlock();
  CU_ASSERT_TRUE(shared.try_lock_shared_for(milliseconds(0)));
  shared.unlock_shared();
}

/// The owner is the fiber, whatever worker it is on.
void a_recursive_mutex_knows_its_fiber()
{
  constexpr int FIBERS = 6, ROUNDS = 100;
  ws::pool pool(settings_of(3));
  ws::recursive_mutex mutex;
  long count = 0;
  ws::group group;
  for (int i = 0; i < FIBERS; i++)
    group.run(pool, [&](ws::context &context) {
      for (int round = 0; round < ROUNDS; round++) {
        const std::lock_guard<ws::recursive_mutex> outer(mutex);
        const long before = count;
        context.yield();
        const std::unique_lock<ws::recursive_mutex> inner(mutex, std::try_to_lock);
        count = before + (inner.owns_lock() ? 1 : 1000);
        context.yield();
      }
    });
  group.wait();
  CU_ASSERT_EQUAL(count, FIBERS * ROUNDS);
}

void a_shared_mutex_has_readers_or_a_writer()
{
  constexpr int CALLERS = 9, ROUNDS = 200;
  ws::pool pool(settings_of(4));
  ws::shared_mutex mutex;
  long first = 0, second = 0; // equal outside a writer
  std::atomic<int> unequal{0}, wrote{0};
  const auto write = [&] {
    first++;
    ws::this_fiber::yield();
    second++;
    wrote++;
  };
  at_once(pool, CALLERS, [&](int caller) {
    for (int i = 0; i < ROUNDS; i++) {
      if ((caller + i) % 4 == 0) {
        std::unique_lock<ws::shared_mutex> held(mutex, std::defer_lock);
        if (i % 3 == 0 ? (held.lock(), true) : i % 3 == 1 ? held.try_lock() : held.try_lock_for(hours(1)))
          write();
      } else {
        std::shared_lock<ws::shared_mutex> held(mutex, std::defer_lock);
        if (i % 3 == 0 ? (held.lock(), true) : i % 3 == 1 ? held.try_lock() : held.try_lock_for(hours(1)))
          unequal += first != second;
      }
    }
  });
  CU_ASSERT_EQUAL(unequal, 0);
  CU_ASSERT_EQUAL(first, wrote);
  CU_ASSERT_EQUAL(second, wrote);
}

/// Two readers are inside at once. A writer that waits goes before a reader that comes later.
void readers_and_writers_take_turns()
{
  ws::pool pool(settings_of(1));
  ws::shared_mutex mutex;
  std::string order;
  mutex.lock_shared();
  mutex.lock_shared();
  ws::group group;
  group.run(pool, [&](ws::context &) {
    const std::lock_guard<ws::shared_mutex> held(mutex);
    order += 'w';
  });
  CU_ASSERT_TRUE(await_parked(1));
  group.run(pool, [&](ws::context &) {
    const std::shared_lock<ws::shared_mutex> held(mutex);
    order += 'r';
  });
  CU_ASSERT_TRUE(await_parked(2));
  CU_ASSERT_FALSE(mutex.try_lock_shared());
  CU_ASSERT_TRUE(order.empty());
  mutex.unlock_shared();
  mutex.unlock_shared();
  group.wait();
  CU_ASSERT_EQUAL(order, "wr");
}

void conditions_are_waited_for()
{
  ws::pool pool(settings_of(3));
  ws::mutex mutex;
  ws::condition_variable changed;
  int turn = 0;
  constexpr int CALLERS = 6, ROUNDS = 60;
  at_once(pool, CALLERS, [&](int caller) {
    for (int i = 0; i < ROUNDS; i++) {
      std::unique_lock<ws::mutex> held(mutex);
      changed.wait(held, [&] { return turn % CALLERS == caller; });
      turn++;
      changed.notify_all();
    }
  });
  CU_ASSERT_EQUAL(turn, CALLERS * ROUNDS);
  std::unique_lock<ws::mutex> held(mutex);
  const auto never = [] { return false; };
  CU_ASSERT(changed.wait_for(held, milliseconds(1)) == std::cv_status::timeout);
  CU_ASSERT(changed.wait_until(held, system_clock::now() - hours(1)) == std::cv_status::timeout);
  CU_ASSERT_FALSE(changed.wait_for(held, milliseconds(1), never));
  CU_ASSERT_FALSE(changed.wait_until(held, steady_clock::now() + milliseconds(1), never));
  CU_ASSERT_TRUE(changed.wait_for(held, -hours(1), [] { return true; }));
  CU_ASSERT_TRUE(held.owns_lock());
}

/// Each wait that cannot return a cancel throws it, with the lock held where there is one.
void cancels_are_thrown()
{
  ws::pool pool(settings_of(1));
  ws::mutex mutex;
  ws::condition_variable changed;
  ws::counting_semaphore<> units(0);
  ws::latch latch(1);
  ws::barrier<> barrier(2);
  ws_cancel_t cancel = WS_CANCEL_INIT;
  std::vector<ws::future<void>> ends;
  const auto cancelled = [&](auto wait) {
    ends.push_back(pool.submit([&cancel, wait](ws::context &) {
      ws_cancel_use(&cancel);
      wait();
    }));
  };
  cancelled([&] {
    std::unique_lock<ws::mutex> held(mutex);
    changed.wait(held, [] { return false; });
  });
  cancelled([&] {
    std::unique_lock<ws::mutex> held(mutex);
    changed.wait_until(held, steady_clock::time_point::max());
  });
  cancelled([&] { units.acquire(); });
  cancelled([&] { latch.wait(); });
  cancelled([&] { barrier.arrive_and_wait(); });
  CU_ASSERT_TRUE(await_parked(ends.size()));
  CU_ASSERT_TRUE(mutex.try_lock());
  mutex.unlock();
  ws_cancel_request(&cancel);
  for (ws::future<void> &end : ends)
    CU_ASSERT_TRUE(throws<ws::cancelled>([&] { end.get(); }));
  CU_ASSERT_TRUE(mutex.try_lock()); // each has unlocked it
  mutex.unlock();
  pool.push([&](ws::context &) { latch.wait(); }); // a pushed fiber may end by it
  CU_ASSERT_TRUE(await_parked(1));
  pool.stop(WS_STOP_ABORT);
  barrier.arrive_and_wait(); // the fiber's arrival counts
}

void semaphores_and_latches_count()
{
  ws::pool pool(settings_of(4));
  ws::counting_semaphore<9> units(2);
  ws::binary_semaphore one(0);
  ws::latch all(9);
  std::atomic<int> inside{0}, most{0};
  at_once(pool, 9, [&](int caller) {
    if (caller % 2 == 0)
      units.acquire();
    else
      while (!units.try_acquire_for(milliseconds(1)))
        ;
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);)
      ;
    ws::this_fiber::yield();
    inside--;
    units.release();
    all.count_down();
  });
  CU_ASSERT(most <= 2);
  CU_ASSERT_TRUE(all.try_wait());
  all.wait();
  CU_ASSERT_FALSE(one.try_acquire());
  CU_ASSERT_FALSE(one.try_acquire_until(system_clock::now() + milliseconds(1)));
  one.release();
  CU_ASSERT_TRUE(one.try_acquire_until(steady_clock::now() - hours(1)));
  CU_ASSERT_TRUE(units.try_acquire());
}

void barriers_have_phases()
{
  constexpr int PARTIES = 6, ROUNDS = 100;
  ws::pool pool(settings_of(3));
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
  CU_ASSERT_EQUAL(phases, ROUNDS);
  CU_ASSERT_EQUAL(wrong, 0);
  ws::barrier<> smaller(2);
  smaller.arrive_and_drop();
  smaller.arrive_and_wait(); // the last of the first phase
  smaller.arrive_and_wait(); // alone
}

void fibers_have_ids_and_variables()
{
  constexpr int FIBERS = 20;
  ws::pool pool(settings_of(3));
  static std::atomic<int> alive{0};
  struct counted {
    int number = 0;
    counted() { alive++; }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted() { alive--; }
  };
  static ws::fiber_local<counted> local;
  std::atomic<int> wrong{0};
  const ws::fiber_id here = ws::this_fiber::get_id();
  CU_ASSERT_FALSE(ws::this_fiber::is_fiber());
  CU_ASSERT(here == ws::this_fiber::get_id() && here != ws::fiber_id());
  ws::group group;
  for (int i = 1; i <= FIBERS; i++)
    group.run(pool, [&, i](ws::context &) {
      const ws::fiber_id own = ws::this_fiber::get_id();
      wrong += local.has_value() || !ws::this_fiber::is_fiber() || own == here;
      local->number = i;
      for (int turn = 0; turn < 20; turn++) {
        ws::this_fiber::yield();
        wrong += (*local).number != i || ws::this_fiber::get_id() != own;
      }
      wrong += !ws::this_fiber::sleep_for(std::chrono::microseconds(1));
      wrong += !ws::this_fiber::sleep_until(system_clock::now() + std::chrono::microseconds(1));
    });
  group.wait();
  pool.wait(); // the group is complete before the fibers have ended
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(alive, 0);
}

/// Frames that fit into the stack that was asked for only.
[[gnu::noinline]] std::size_t use_stack()
{
  volatile char frame[768 * 1024];
  frame[0] = 1;
  frame[sizeof(frame) - 1] = 2;
  return sizeof(frame) + static_cast<std::size_t>(frame[0]);
}

void fibers_have_options()
{
  ws::pool pool(settings_of(2));
  const ws::fiber_options options = {"wide", 1 << 20};
  const auto name = [] { return std::string(ws_fiber_name() ? ws_fiber_name() : "none"); };
  CU_ASSERT_EQUAL(pool.submit(ws::fiber(options, name)).get(), "wide");
  CU_ASSERT_EQUAL(pool.submit(ws::fiber(name), ws::priority::high).get(), "fiber");
  CU_ASSERT_EQUAL(pool.submit([&](ws::context &) { return name(); }).get(), "fiber");
  CU_ASSERT_EQUAL(pool.submit(name).get(), "none");
  CU_ASSERT(pool.submit(ws::fiber(options, use_stack)).get() > 768 * 1024);
  ws::group group;
  std::atomic<int> wide{0};
  const auto note = [&](ws::context &context) {
    context.yield();
    wide += name() == "wide";
  };
  group.run(pool, ws::fiber(options, note));
  group.wait();
  pool.push(ws::fiber(options, note));
  CU_ASSERT_EQUAL(pool.try_push(ws::fiber(options, note)), 0);
  CU_ASSERT_EQUAL(pool.try_push(ws::fiber({"small", 1}, note)), -EINVAL);
  pool.wait();
  CU_ASSERT_EQUAL(wide, 3);
}

} // namespace

TEST_SUITE(sync, TEST_CASE(a_mutex_has_one_owner), TEST_CASE(time_limits_and_cancels_end_tries),
           TEST_CASE(a_recursive_mutex_knows_its_fiber), TEST_CASE(a_shared_mutex_has_readers_or_a_writer),
           TEST_CASE(readers_and_writers_take_turns), TEST_CASE(conditions_are_waited_for),
           TEST_CASE(cancels_are_thrown), TEST_CASE(semaphores_and_latches_count),
           TEST_CASE(barriers_have_phases), TEST_CASE(fibers_have_ids_and_variables),
           TEST_CASE(fibers_have_options))
