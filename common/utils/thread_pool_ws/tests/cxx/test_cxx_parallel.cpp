// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_parallel.cpp
/// ws::parallel_for, ws::parallel_reduce and ws::parallel_invoke: each number once, types of numbers and
/// results, order of the combinations, exceptions.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "cxx_scene.hpp"

constexpr int NUMBERS = 10000;

template <typename First, typename End>
static bool calls_each_once(ws::pool &pool, First first, End end, std::uint64_t grain)
{
  using Index = std::common_type_t<First, End>;
  const auto count = Index(first) < Index(end) ? static_cast<std::size_t>(Index(end) - Index(first)) : 0;
  std::vector<std::atomic<int>> calls(count);
  std::atomic<int> outside{0};
  ws::parallel_for(
      pool, first, end,
      [&](auto i) {
        static_assert(std::is_same_v<decltype(i), Index>);
        const auto place = static_cast<std::size_t>(i) - static_cast<std::size_t>(first);
        (place < count ? calls[place] : outside)++;
      },
      grain);
  for (const std::atomic<int> &one : calls)
    if (one != 1)
      return false;
  return outside == 0;
}

CASE(loop_calls_each_number_once)
{
  for (std::uint32_t workers = 0; workers <= 2; workers++) {
    ws::pool pool(settings_of(workers));
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    CU_ASSERT_TRUE(calls_each_once(pool, -NUMBERS, NUMBERS, 0));
    CU_ASSERT_TRUE(calls_each_once(pool, 5u, 8u, 7));
    CU_ASSERT_TRUE(calls_each_once(pool, 8, 5, 0));
    CU_ASSERT_TRUE(calls_each_once(pool, std::int8_t{-128}, std::int8_t{127}, 1));
    CU_ASSERT_TRUE(calls_each_once(pool, least, least + 100, 3));
    CU_ASSERT_TRUE(calls_each_once(pool, -3, 2l, 0));
    pool.stop(WS_STOP_DRAIN);
    CU_ASSERT_TRUE(calls_each_once(pool, 0, std::size_t{NUMBERS}, 1));
  }
  ws::pool pool(settings_of(1));
  int calls = 0;
  ws::parallel_for(pool, 0u, -1, [&](unsigned) { calls++; }); // empty: the bound is not converted
  CU_ASSERT_EQUAL(calls, 0);
  const auto inside = [&] { return calls_each_once(pool, 0, 10, 1); };
  CU_ASSERT_TRUE(pool.submit(inside).get());
}

/// Numbers below 0; an exception.
CASE(pieces_have_slots)
{
  ws::pool pool(settings_of(2));
  std::vector<int> calls(pool.size() + 1);
  std::vector<std::atomic<int>> numbers(200);
  ws::parallel_pieces(pool, -100, 100, [&](int begin, int end, std::uint32_t slot) {
    for (calls.at(slot)++; begin < end; begin++)
      numbers.at(static_cast<std::size_t>(begin + 100))++;
  });
  CU_ASSERT_EQUAL(std::count(numbers.begin(), numbers.end(), 1), 200);
  CU_ASSERT_TRUE(calls.size() == 3 && calls[0] + calls[1] + calls[2] > 0);
  CU_ASSERT_TRUE(throws<int>([&] { ws::parallel_pieces(pool, 0u, 9u, [](auto, auto, auto) { throw 3; }); }));
}

/// Alone with its caller, a loop stops at the exception. The rest is skipped, however long it is.
CASE(loop_throws_the_first_exception)
{
  for (std::uint32_t workers = 0; workers <= 2; workers++) {
    ws::pool pool(settings_of(workers));
    std::atomic<int> calls{0};
    const auto call = [&](std::uint64_t i) { return ++calls > 0 && i == 41 ? throw std::string("here") : i; };
    const auto loop = [&] { ws::parallel_for(pool, std::uint64_t{0}, std::uint64_t{1} << 32, call, 1); };
    CU_ASSERT_TRUE(throws<std::string>(loop));
    CU_ASSERT_TRUE(calls >= 1 && (workers > 0 || calls == 42));
    CU_ASSERT_TRUE(calls_each_once(pool, 0, 100, 0));
  }
}

/// A piece without end, that another thread has begun, ends.
POOL_CASE(an_exception_ends_pieces, 1)
{
  constexpr std::int64_t end = std::int64_t{1} << 62;
  std::atomic<bool> begun{false};
  const auto call = [&](std::int64_t i) {
    if (i > 0)
      begun = true;
    else
      while (!begun)
        std::this_thread::yield();
    return i > 0 ? 0 : throw 3;
  };
  CU_ASSERT_TRUE(throws<int>([&] { ws::parallel_for(pool, 0, end, call, end / 2); }));
  begun = false;
  const auto reduce = [&] { return ws::parallel_reduce(pool, 0, end, 0, call, std::plus<>(), end / 2); };
  CU_ASSERT_TRUE(throws<int>(reduce));
}

/// @return whether the reductions of a range in all pools and pieces equal @p serial
template <typename T, typename Map, typename Combine>
static bool reduces_to(const T &serial, int end, const T &identity, Map map, Combine combine)
{
  for (std::uint32_t workers = 0; workers <= 2; workers++) {
    ws::pool pool(settings_of(workers));
    for (std::uint64_t grain : {0u, 1u, 9u, 20000u})
      if (ws::parallel_reduce(pool, 0, end, identity, map, combine, grain) != serial)
        return false;
    if (ws::parallel_reduce(pool, 9, 9, identity, map, combine) != identity)
      return false;
  }
  return true;
}

/// Joining texts is associative, not commutative. A std::string lies in the memory of the reduction; an array
/// of 400 bytes does not fit.
CASE(neighbours_are_combined_left_before_right)
{
  const auto text = [](int i) { return std::to_string(i) + ' '; };
  std::string serial;
  for (int i = 0; i < 500; i++)
    serial += text(i);
  CU_ASSERT_TRUE(reduces_to(serial, 500, std::string(), text, std::plus<>()));
  using Wide = std::array<int, 100>;
  const auto at_its_place = [](int i) {
    Wide one = {};
    one[static_cast<std::size_t>(i % 100)] = i;
    return one;
  };
  const auto add = [](Wide left, const Wide &right) {
    for (std::size_t i = 0; i < left.size(); i++)
      left[i] += right[i];
    return left;
  };
  Wide sums;
  for (int i = 0; i < 100; i++)
    sums[static_cast<std::size_t>(i)] = 10 * i + 4500;
  CU_ASSERT_TRUE(reduces_to(sums, 1000, Wide{}, at_its_place, add));
  ws::pool one(settings_of(1)), three(settings_of(3)); // equal calls round equally
  const auto reciprocals = [](ws::pool &pool) {
    const auto of = [](long i) { return 1.0 / static_cast<double>(i); };
    return ws::parallel_reduce(pool, 1u, long{NUMBERS}, 0.0, of, std::plus<>(), 10);
  };
  const double sum = reciprocals(one), other = reciprocals(three);
  CU_ASSERT_EQUAL(std::memcmp(&sum, &other, sizeof(sum)), 0);
}

static bool reduction_throws(ws::pool &pool, int map_throws, int combine_throws)
{
  const auto map = [=](int i) { return i == map_throws ? throw std::range_error("map") : watched(i); };
  const auto add = [=](watched left, watched right) {
    return right.value >= combine_throws ? throw std::range_error("add") : watched(left.value + right.value);
  };
  return throws<std::range_error>(
      [&] { CU_ASSERT_EQUAL(ws::parallel_reduce(pool, 0, 1000, watched(), map, add, 10).value, 499500); });
}

CASE(reduction_throws_and_leaves_nothing)
{
  for (std::uint32_t workers = 0; workers <= 2; workers++) {
    ws::pool pool(settings_of(workers));
    CU_ASSERT_FALSE(reduction_throws(pool, -1, 1000000));
    CU_ASSERT_TRUE(reduction_throws(pool, 500, 1000000)); // in a piece
    CU_ASSERT_TRUE(reduction_throws(pool, -1, 999)); // in a piece, or between two
    watched::throws_in = 1; // of the neutral value
    CU_ASSERT_TRUE(reduction_throws(pool, -1, 1000000));
    CU_ASSERT_EQUAL(watched::alive, 0);
  }
}

/// Called where they are: a callable that could not be moved or copied.
POOL_CASE(invoke, 2)
{
  struct rooted {
    std::atomic<int> sum{0};
    int operator()() { return ++sum; }
  } own;
  std::atomic<int> sum{0};
  auto add = [&sum]() mutable { sum += 100; };
  const auto once = [&] { ws::parallel_invoke(pool, own, add, add); };
  const auto fail = [] { throw 3; };
  once();
  pool.submit(once).get();
  CU_ASSERT_TRUE(throws<int>([&] {
    ws::parallel_invoke(
        pool, [] {}, fail);
  }));
  pool.stop(WS_STOP_DRAIN);
  once();
  CU_ASSERT_EQUAL(own.sum.load(), 3);
  CU_ASSERT_EQUAL(sum.load(), 600);
}
