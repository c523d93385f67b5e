// SPDX-License-Identifier: BSD-3-Clause
/// @file headers.cpp
/// Uses each template of the C++ headers once: step 86-cxx compiles it for each standard and compiler.
#include "ws_channel.hpp"
#if defined(__cpp_impl_coroutine)
#include "ws_coroutine.hpp"
#endif
#include "ws_fiber.hpp"
#include "ws_pool.hpp"
#include "ws_sync.hpp"

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>

int use_all(ws_settings_t settings);

static int submits(ws::pool &pool, const ws::stop_source &source)
{
  int place = 0;
  auto owned = std::make_unique<int>(1);
  std::promise<std::string> promise;
  pool.push([&place, owned = std::move(owned)] { place = *owned; }, ws::priority::low);
  pool.submit([] { return std::string(); }, &promise, ws::node_of(&place));
  pool.submit([&place]() -> int & { return place; }, source.get_token()).get() = 1;
  std::future<int> converted = pool.submit([] { return 1; }, ws::node{0});
  std::shared_future<void> shared = pool.submit([] {}).share();
  pool.get(shared);
  pool.push(std::bind([](int) {}, 1));
  pool.submit([](auto &&...all) { return (0 + ... + all); }).get();
  return pool.try_push(ws::task([] {})) + pool.get(converted);
}

static int joins(ws::pool &pool, const ws::stop_source &source)
{
  ws::group group;
  group.run(
      pool, [] {}, ws::priority::high);
  group.run(
      pool, [] { return 1; }, source.get_token());
  const auto wide = ws::parallel_reduce(
      pool, 0, 9, std::string(), [](int i) { return std::to_string(i); }, std::plus<>());
  ws::parallel_for(pool, short{0}, short{9}, [](short) {});
  ws::parallel_for(pool, 0, wide.size(), [](std::size_t) {});
  ws::parallel_invoke(
      pool, [] {}, [] { return 1; }, std::bind([](int) {}, 1));
  const bool all = ws::parallel_for(
      pool, 0ul, 9ul, [](unsigned long) {}, source.get_token(), 1);
  const std::optional<long> sum = ws::parallel_reduce(
      pool, 0l, 9l, 0l, [](long i) { return i; }, std::plus<>(), source.get_token(), 1);
  return (group.wait() && all && sum ? 1 : 0) + static_cast<int>(wide.size());
}

#if WS_EXCEPTIONS
static std::uint32_t cancels(ws::pool &pool)
{
  ws::key key;
  ws::group group;
  group.run(
      pool, [] {}, key);
  ws::future<int> future = pool.submit([] { return 1; }, key, ws::priority::low);
  return (future.cancel() ? 1 : 0) + key.cancel();
}
#else
static std::uint32_t cancels(ws::pool &)
{
  return 0;
}
#endif

static bool limits(ws::pool &pool)
{
  using namespace std::chrono;
  ws::group group;
  ws::future<void> future = pool.submit([] {});
  const bool all = group.wait_for(milliseconds(1)) && group.wait_until(system_clock::now() + hours(1));
  const bool ready = future.wait_for(duration<float>(1)) == std::future_status::ready
                     && future.wait_until(steady_clock::now()) == std::future_status::ready;
  return all && ready && pool.wait_for(seconds(1)) && pool.wait_until(system_clock::now());
}

int use_all(ws_settings_t settings)
{
  ws::stop_source source;
  ws::pool pool(settings), other(std::move(pool));
  pool = ws::pool(2);
  const int both = submits(pool, source) + joins(other, source) + limits(pool) + (cancels(pool) ? 1 : 0);
  source.request_stop();
  pool.wait();
  return both + (pool.stop(WS_STOP_ABORT) < 0 ? 1 : 0);
}

int fibers(ws::pool &pool, ws::stop_source &source)
{
  ws::group group;
  group.run(
      pool, [](ws::context &context) { context.yield(); }, ws::priority::low);
  pool.push([](ws::context &context) { context.sleep_for(std::chrono::milliseconds(1)); });
  std::promise<int> promise;
  pool.submit([](ws::context &) { return 1; }, &promise);
  return pool.submit([](ws::context &) { return 1; }, source.get_token()).get() + (group.wait() ? 1 : 0);
}

bool locks(ws::mutex &mutex, ws::shared_mutex &shared, ws::condition_variable &changed)
{
  using namespace std::chrono;
  std::scoped_lock both(mutex, shared);
  std::unique_lock<ws::timed_mutex> held(mutex, std::defer_lock);
  std::shared_lock<ws::shared_timed_mutex> reads(shared, steady_clock::now() + seconds(1));
  changed.wait(held);
  changed.wait(held, [] { return true; });
  const bool late = changed.wait_for(held, seconds(1)) == std::cv_status::timeout
                    || changed.wait_until(held, system_clock::now()) == std::cv_status::timeout
                    || changed.wait_for(held, seconds(1), [] { return true; })
                    || changed.wait_until(held, steady_clock::now(), [] { return true; });
  changed.notify_one();
  changed.notify_all();
  return held.try_lock_for(seconds(1)) && shared.try_lock() && shared.try_lock_for(seconds(1)) && late;
}

bool fibers_own(ws::pool &pool, ws::fiber_local<std::string> &local, ws::recursive_timed_mutex &mutex)
{
  const ws::fiber_id own = ws::this_fiber::get_id();
  const std::lock_guard<ws::recursive_timed_mutex> held(mutex);
  pool.push(ws::fiber([] {}));
  pool.push(ws::fiber({"name", WS_FIBER_STACK_BYTES_MIN}, [](ws::context &context) { context.yield(); }));
  ws::this_fiber::yield();
  return ws::this_fiber::sleep_for(std::chrono::seconds(1)) && local.has_value() && !local->empty()
         && std::hash<ws::fiber_id>()(own) != 0 && ws::this_fiber::is_fiber()
         && ws::this_fiber::sleep_until(std::chrono::system_clock::now());
}

bool stops(ws::stop_source &source, std::unique_lock<ws::mutex> &held, ws::condition_variable &changed)
{
  ws::key key;
  const ws::stop_callback cancels(source.get_token(), [&key] { key.cancel(); });
  const ws::stop_scope<ws::stop_token> scope(source.get_token());
  return changed.wait(held, source.get_token(), [] { return true; });
}

bool counts(ws::latch &latch, ws::barrier<> &barrier)
{
  ws::counting_semaphore<9> units(9);
  ws::binary_semaphore one(1);
  units.release(2);
  one.acquire();
  latch.arrive_and_wait();
  barrier.wait(barrier.arrive());
  barrier.arrive_and_wait();
  barrier.arrive_and_drop();
  return units.try_acquire() && units.try_acquire_for(std::chrono::seconds(1)) && latch.try_wait()
         && one.try_acquire_until(std::chrono::system_clock::now());
}

bool channels(ws::channel<std::string> &channel, std::string &text)
{
  using namespace std::chrono;
  using ws::channel_status;
  const bool sent = channel.send(text) == channel_status::done
                    && channel.try_send(std::move(text)) == channel_status::full
                    && channel.send_for("text", seconds(1)) == channel_status::timeout
                    && channel.send_until(text, system_clock::now()) == channel_status::closed;
  const bool received = channel.receive(text) == channel_status::cancelled
                        && channel.try_receive(text) == channel_status::empty
                        && channel.receive_for(text, seconds(1)) == channel_status::done
                        && channel.receive_until(text, steady_clock::now()) == channel_status::done;
  channel.close();
  return sent && received && channel.receive().has_value() && channel.is_closed() && channel.size() == 0;
}

int promises(ws::pool &pool, ws::promise<std::string> promise)
{
  ws::future<std::string> future = promise.get_future();
  promise.set_value("text");
  ws::future<int> next =
      future.then(pool, [](const std::string &text) { return static_cast<int>(text.size()); });
  ws::promise<void> none;
  none.set_value();
  return next
      .then(
          pool, [](int size) { return size; }, ws::priority::high)
      .get();
}

#if defined(__cpp_impl_coroutine)
static ws::coroutine<int> awaits_all(ws::pool &pool, ws::group &group)
{
  co_await pool;
  co_await ws::on(pool, ws::priority::low);
  co_await ws::on_fiber(pool, {"name", WS_FIBER_STACK_BYTES});
  co_await group;
  const int result = co_await pool.submit([] { return 1; });
  co_return result;
}
static ws::coroutine<> awaits_one(ws::pool &pool, ws::group &group)
{
  static_cast<void>(co_await awaits_all(pool, group));
}

int coroutines(ws::pool &pool, ws::group &group)
{
  ws::start(pool, awaits_one(pool, group)).get();
  return ws::start(pool, awaits_all(pool, group), ws::priority::high).get();
}
#endif

#if defined(WS_TEST_ARGUMENT) // must not compile
void refused_argument(ws::pool &pool)
{
  pool.push([](int) {});
}
#endif
