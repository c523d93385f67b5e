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

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>

template <typename... Hint>
static int submits(ws::pool &pool, ws::stop_token token, ws::key &key, Hint... with)
{
  int place = 0;
  std::promise<std::string> promise;
  pool.push([&place, owned = std::make_unique<int>(1)] { place = *owned; }, with...);
  pool.push([](ws::context &context) { context.sleep_for(std::chrono::milliseconds(1)); }, with...);
  pool.push(std::bind([](int) {}, 1), with...);
  pool.submit([] { return std::string(); }, &promise, with...);
  pool.submit([&place]() -> int & { return place; }, token, with...).get() = 1;
  pool.submit([](ws::context &context) { context.yield(); }, token, with...).get();
  std::future<int> converted = pool.submit([] { return 1; }, key, with...);
  std::shared_future<void> shared = pool.submit([] {}, with...).share();
  pool.get(shared);
  ws::group group;
  group.run(
      pool, [](auto &&...all) { return (0 + ... + all); }, with...);
  group.run(
      pool, [](ws::context &context) { context.yield(); }, token, with...);
  group.run(
      pool, [] { return 1; }, key, with...);
  return pool.try_push(ws::task([] {}), with...) + pool.get(converted) + (group.wait() ? 1 : 0);
}

static int loops(ws::pool &pool, ws::stop_token token)
{
  const auto text = [](int i) { return std::to_string(i); };
  const auto same = [](long i) { return i; };
  const std::string wide = ws::parallel_reduce(pool, 0, 9, std::string(), text, std::plus<>());
  ws::parallel_for(pool, short{0}, short{9}, [](short) {});
  ws::parallel_for(pool, 0, wide.size(), [](std::size_t) {});
  ws::parallel_invoke(
      pool, [] {}, [] { return 1; }, std::bind([](int) {}, 1));
  const bool all = ws::parallel_for(
      pool, 0ul, 9ul, [](unsigned long) {}, token, 1);
  const std::optional<long> sum = ws::parallel_reduce(pool, 0l, 9l, 0l, same, std::plus<>(), token, 1);
  return all && sum ? 1 : 0;
}

static bool limits(ws::pool &pool)
{
  using namespace std::chrono;
  ws::group group;
  ws::future<void> future = pool.submit([] {});
#if WS_EXCEPTIONS
  future.cancel();
#endif
  const bool all = group.wait_for(milliseconds(1)) && group.wait_until(system_clock::now() + hours(1));
  const bool ready = future.wait_for(duration<float>(1)) == std::future_status::ready
                     && future.wait_until(steady_clock::now()) == std::future_status::ready;
  return all && ready && pool.wait_for(seconds(1)) && pool.wait_until(system_clock::now());
}

int use_all(ws_settings_t settings);
int use_all(ws_settings_t settings)
{
  ws::stop_source source;
  ws::key key;
  const ws::stop_callback cancels(source.get_token(), [&key] { key.cancel(); });
  ws::pool pool(settings), other(std::move(pool));
  pool = ws::pool(2);
  const int sum =
      submits(pool, source.get_token(), key) + submits(pool, source.get_token(), key, ws::priority::low)
      + submits(pool, source.get_token(), key, ws::node_of(&key)) + loops(other, source.get_token());
  source.request_stop();
  pool.wait();
  return sum + (limits(pool) && pool.stop(WS_STOP_ABORT) < 0 ? 1 : 0);
}

template class ws::barrier<>;
template class ws::counting_semaphore<9>;
template class ws::channel<std::string>;
template class ws::fiber_local<std::string>;

template <typename Lock>
static bool locks(Lock &&held)
{
  using namespace std::chrono;
  return held.try_lock_for(seconds(1)) && held.try_lock_until(system_clock::now());
}

bool fibers(ws::mutex &mutex, ws::recursive_mutex &recursive, ws::shared_mutex &shared, ws::stop_token token)
{
  using namespace std::chrono;
  const ws::stop_scope<ws::stop_token> scope(token);
  const auto is_ready = [] { return true; };
  ws::condition_variable changed;
  ws::binary_semaphore unit(1);
  ws::channel<std::string> channel(1);
  std::string text;
  std::scoped_lock both(mutex, shared);
  std::unique_lock<ws::timed_mutex> held(mutex, std::defer_lock);
  changed.wait(held, is_ready);
  changed.wait(held, token, is_ready);
  return locks(held) && locks(std::unique_lock(recursive)) && locks(std::unique_lock(shared))
         && locks(std::shared_lock(shared)) && changed.wait_for(held, seconds(1), is_ready)
         && changed.wait_until(held, system_clock::now(), is_ready) && unit.try_acquire_for(seconds(1))
         && unit.try_acquire_until(system_clock::now()) && ws::this_fiber::sleep_for(seconds(1))
         && ws::this_fiber::sleep_until(system_clock::now())
         && channel.send_for(text, seconds(1)) == channel.send_until("text", system_clock::now())
         && channel.receive_for(text, seconds(1)) == channel.receive_until(text, system_clock::now());
}

template class ws::promise<std::string>;
template class ws::promise<int &>;
template class ws::promise<void>;

int promises(ws::pool &pool, ws::promise<std::string> promise)
{
  const auto size = [](const std::string &text) { return static_cast<int>(text.size()); };
  promise.set_value("text");
  return promise.get_future()
      .then(pool, size)
      .then(
          pool, [](int of) { return of; }, ws::priority::high)
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
#elif defined(WS_TEST_WIDE)
void refused_range(ws::pool &pool)
{
  ws::parallel_for(pool, 0, __int128{1}, [](__int128) {});
}
#endif
