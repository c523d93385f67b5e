// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_ways.hpp
/// All ways to give a pool a callable: of a program, or of a library that the program loads.
#ifndef CXX_WAYS_HPP
#define CXX_WAYS_HPP

#include <list> // IWYU pragma: export

#include "cxx_scene.hpp" // IWYU pragma: export

enum way { PUSH, TRY_PUSH, SUBMIT, SUBMIT_TOKEN, SUBMIT_KEY, SUBMIT_PROMISE, RUN, RUN_TOKEN, RUN_KEY, WAYS };
constexpr int ALL_WAYS = WS_TEST_FIBERS ? 2 * WAYS : WAYS; ///< from WAYS on as fibers

/// What a task writes that runs.
struct seen {
  int ran = 0;
  ws_task_t task = {};
};

/// What is left of a task for its waits.
struct given {
  ws::key key;
  std::promise<void> promise;
  ws::future<void> future;
  ws::group group;
  std::exception_ptr refused;

  /// @throws what the push has thrown, or else what the wait throws
  void wait(int how)
  {
    group.wait(); // not for a refused task
    if (refused)
      std::rethrow_exception(refused);
    if (future.valid())
      future.get();
    if (how % WAYS == SUBMIT_PROMISE)
      promise.get_future().get();
  }
};

namespace {

inline void check(int result)
{
  if (result < 0)
    throw std::system_error(-result, std::generic_category());
}

template <typename F>
void give_callable(given &to, int how, ws::pool &pool, F f, ws::hint with)
{
  const ws::stop_token token;
  if (how == PUSH)
    pool.push(std::move(f), with);
  else if (how == TRY_PUSH)
    check(pool.try_push(std::move(f), with));
  else if (how == SUBMIT)
    to.future = pool.submit(std::move(f), with);
  else if (how == SUBMIT_TOKEN)
    to.future = pool.submit(std::move(f), token, with);
  else if (how == SUBMIT_KEY)
    to.future = pool.submit(std::move(f), to.key, with);
  else if (how == SUBMIT_PROMISE)
    pool.submit(std::move(f), &to.promise, with);
  else if (how == RUN)
    to.group.run(pool, std::move(f), with);
  else if (how == RUN_TOKEN)
    to.group.run(pool, std::move(f), token, with);
  else
    to.group.run(pool, std::move(f), to.key, with);
}

/// Have a pool run a callable that owns what it writes to.
using give_t = void (*)(given &to, int how, ws::pool &pool, std::shared_ptr<seen> owned, ws::hint with);

inline void give(given &to, int how, ws::pool &pool, std::shared_ptr<seen> owned, ws::hint with)
{
  const auto write = [](seen &of) {
    of.ran++;
    of.task = *ws_current_task();
  };
  try {
    if (how < WAYS)
      give_callable(
          to, how, pool, [write, owned = std::move(owned)] { write(*owned); }, with);
#if WS_TEST_FIBERS
    else
      give_callable(
          to, how - WAYS, pool,
          [write, owned = std::move(owned)](ws::context &context) {
            context.yield();
            write(*owned);
          },
          with);
#endif
  } catch (...) {
    to.refused = std::current_exception();
  }
}

/// Give @p pool a task in each way, and wait after @p meanwhile.
/// @return whether each has ended with @p end, is destroyed, and has run with the hint if the end is 0. A
/// pool whose queues can be full has no fibers
inline bool all_end_with(
    int end, ws::pool &pool, give_t by, ws::hint with = {}, const std::function<void()> &meanwhile = [] {})
{
  const ws_task_t hint = with.on({});
  std::list<given> all;
  std::vector<std::shared_ptr<seen>> owned;
  for (int how = 0; how < ALL_WAYS; how++) {
    owned.push_back(std::make_shared<seen>());
    by(all.emplace_back(), how, pool, owned.back(), with);
  }
  meanwhile();
  bool good = true;
  int how = 0;
  for (given &each : all) {
    const bool is_told = how % WAYS > TRY_PUSH;
    const int wanted = end == SKIPPED && !is_told ? 0 : end == EAGAIN && how >= WAYS ? EINVAL : end;
    const int got = end_of([&] { each.wait(how); });
    if (end == 0 && !is_told)
      pool.wait();
    const std::shared_ptr<seen> &of = owned[static_cast<std::size_t>(how)];
    // a pool with one node takes the node off plain tasks
    const bool is_hinted = of->task.priority == hint.priority && (how < WAYS || of->task.node == hint.node);
    if (got != wanted || of->ran != (end == 0 ? 1 : 0) || of.use_count() != 1 || (end == 0 && !is_hinted)) {
      std::printf("\n    way %d: end %d, ran %d, owners %ld\n", how, got, of->ran, of.use_count());
      good = false;
    }
    how++;
  }
  return good;
}

} // namespace

#endif
