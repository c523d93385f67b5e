// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_parallel.cpp
/// ws::parallel_for and ws::parallel_reduce: each number once, order of the combinations, exceptions. Linked
/// with --wrap of ws_pool_push.
#include <array>
#include <csignal>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cxx_scene.hpp"

#define NUMBERS 10000

static std::atomic<int> pushes{0};

extern "C" {
int __real_ws_pool_push(ws_pool_t *pool, ws_task_t task);
int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task);

int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task)
{
  pushes++;
  return __real_ws_pool_push(pool, task);
}
}

template <typename Index>
static bool calls_each_once(ws::pool &pool, Index first, Index end, std::uint64_t grain)
{
  const auto count = first < end ? static_cast<std::size_t>(end - first) : 0;
  std::vector<std::atomic<int>> calls(count);
  std::atomic<int> outside{0};
  ws::parallel_for(
      pool, first, end,
      [&](Index i) {
        if (i >= first && i < end)
          calls[static_cast<std::size_t>(i - first)]++;
        else
          outside++;
      },
      grain);
  for (const std::atomic<int> &one : calls)
    if (one != 1)
      return false;
  return outside == 0;
}

static void loop_calls_each_number_once()
{
  for (std::uint32_t workers = 0; workers <= 3; workers++) {
    ws::pool pool(settings_of(workers));
    CU_ASSERT_TRUE(calls_each_once(pool, -NUMBERS, NUMBERS, 0));
    CU_ASSERT_TRUE(calls_each_once(pool, 0, NUMBERS, 1));
    CU_ASSERT_TRUE(calls_each_once(pool, 5u, 8u, 7));
    CU_ASSERT_TRUE(calls_each_once(pool, 8, 5, 0));
    CU_ASSERT_TRUE(calls_each_once(pool, std::numeric_limits<std::int8_t>::min(),
                                   std::numeric_limits<std::int8_t>::max(), 1));
    const std::int64_t least = std::numeric_limits<std::int64_t>::min();
    CU_ASSERT_TRUE(calls_each_once(pool, least, least + 100, 3));
  }
}

static void loop_inside_tasks()
{
  ws::pool pool(settings_of(1));
  std::atomic<int> calls{0};
  ws::parallel_for(
      pool, 0, 10,
      [&](int) {
        ws::parallel_for(
            pool, 0, 10, [&](int) { calls++; }, 1);
      },
      1);
  CU_ASSERT_EQUAL(calls, 100);
  pool.submit([&] {
        ws::parallel_for(
            pool, 0, 10, [&](int) { calls++; }, 1);
      })
      .get();
  CU_ASSERT_EQUAL(calls, 110);
}

static void loop_throws_the_first_exception()
{
  for (std::uint32_t workers = 0; workers <= 2; workers++) {
    ws::pool pool(settings_of(workers));
    std::atomic<int> calls{0}, after{0};
    const auto body = [&](int i) {
      calls++;
      if (i % 10 == 7)
        throw std::string("seven");
    };
    CU_ASSERT_TRUE(throws<std::string>([&] { ws::parallel_for(pool, 0, NUMBERS, body, 10); }));
    CU_ASSERT_TRUE(calls >= 1 && calls <= NUMBERS);
    ws::parallel_for(pool, 0, 100, [&](int) { after++; });
    CU_ASSERT_EQUAL(after, 100);
  }
}

/// Alone with its caller, the loop stops at the exception.
static void loop_skips_the_rest()
{
  ws::pool pool(settings_of(0));
  int calls = 0;
  CU_ASSERT_TRUE(throws<int>([&] {
    ws::parallel_for(pool, 0, NUMBERS, [&](int i) {
      calls++;
      if (i == 41)
        throw 1;
    });
  }));
  CU_ASSERT_EQUAL(calls, 42);
}

/// The only worker stands in a gate. The caller pushes 32 halves and comes to the first number. It divides no
/// half after that.
static void what_is_left_is_not_pushed()
{
  held_pool scene(1);
  const std::uint64_t end = std::uint64_t{1} << 32;
  pushes = 0;
  CU_ASSERT_TRUE(throws<int>([&] {
    ws::parallel_for(
        scene.pool, std::uint64_t{0}, end, [](std::uint64_t) { throw 1; }, 1);
  }));
  CU_ASSERT_EQUAL(pushes, 32);
  ws::stop_source source;
  const auto stop = [&source](std::uint64_t) { source.request_stop(); };
  pushes = 0;
  CU_ASSERT_FALSE(ws::parallel_for(scene.pool, std::uint64_t{0}, end, stop, source.get_token(), 1));
  CU_ASSERT_TRUE(pushes <= 33);
  pushes = 0;
  const auto map = [](std::uint64_t i) { return i > 0 ? i : throw 1; };
  CU_ASSERT_TRUE(throws<int>([&] {
    static_cast<void>(
        ws::parallel_reduce(scene.pool, std::uint64_t{0}, end, std::uint64_t{0}, map, std::plus<>(), 1));
  }));
  CU_ASSERT_EQUAL(pushes, 32);
}

static void loop_on_a_stopped_pool()
{
  ws::pool pool(settings_of(2));
  pool.stop(WS_STOP_DRAIN);
  CU_ASSERT_TRUE(calls_each_once(pool, 0, NUMBERS, 10));
}

static void sum_equals_serial()
{
  std::uint64_t serial = 0;
  for (int i = -50; i < NUMBERS; i++)
    serial += static_cast<std::uint64_t>(i) * 3;
  for (std::uint32_t workers = 0; workers <= 3; workers++) {
    ws::pool pool(settings_of(workers));
    const auto map = [](int i) { return static_cast<std::uint64_t>(i) * 3; };
    for (std::uint64_t grain : {0u, 1u, 7u, 20000u})
      CU_ASSERT_EQUAL(ws::parallel_reduce(pool, -50, NUMBERS, std::uint64_t{0}, map, std::plus<>(), grain),
                      serial);
    CU_ASSERT_EQUAL(ws::parallel_reduce(pool, 9, 9, std::uint64_t{5}, map, std::plus<>()), 5);
  }
}

/// Joining texts is associative, not commutative. A std::string lies in the memory of the reduction; an array
/// of 400 bytes does not fit.
static void neighbours_are_combined_left_before_right()
{
  std::string serial;
  for (int i = 0; i < 500; i++)
    serial += std::to_string(i) + ' ';
  ws::pool pool(settings_of(2));
  const auto text = [](int i) { return std::to_string(i) + ' '; };
  for (std::uint64_t grain : {0u, 1u, 9u})
    CU_ASSERT_TRUE(ws::parallel_reduce(pool, 0, 500, std::string(), text, std::plus<>(), grain) == serial);
  using Wide = std::array<int, 100>;
  const Wide wide = ws::parallel_reduce(
      pool, 0, 1000, Wide{},
      [](int i) {
        Wide one = {};
        one[static_cast<std::size_t>(i % 100)] = i;
        return one;
      },
      [](Wide left, const Wide &right) {
        for (std::size_t i = 0; i < left.size(); i++)
          left[i] += right[i];
        return left;
      },
      10);
  CU_ASSERT_EQUAL(wide[99], 99 + 199 + 299 + 399 + 499 + 599 + 699 + 799 + 899 + 999);
}

static double rounding_sum(std::uint32_t workers)
{
  ws::pool pool(settings_of(workers));
  return ws::parallel_reduce(
      pool, 1, NUMBERS, 0.0, [](int i) { return 1.0 / i; }, std::plus<>(), 10);
}

static void equal_calls_round_equally()
{
  const double once = rounding_sum(1), other = rounding_sum(3);
  CU_ASSERT_EQUAL(std::memcmp(&once, &other, sizeof(once)), 0);
}

/// Counts its objects, and throws where it is asked to.
struct counted {
  static std::atomic<int> alive, copies_left;
  int value = 0;
  explicit counted(int of) : value(of) { alive++; }
  counted(const counted &other) : value(other.value)
  {
    if (copies_left-- == 0)
      throw 1;
    alive++;
  }
  counted(counted &&other) noexcept : value(other.value) { alive++; }
  counted &operator=(counted &&) = default;
  ~counted() { alive--; }
};
std::atomic<int> counted::alive{0}, counted::copies_left{1000000};

static bool reduction_throws(ws::pool &pool, int map_throws, int combine_throws)
{
  return throws<int>([&] {
    const counted total = ws::parallel_reduce(
        pool, 0, 1000, counted(0),
        [=](int i) {
          if (i == map_throws)
            throw 1;
          return counted(i);
        },
        [=](counted left, counted right) {
          if (right.value >= combine_throws)
            throw 1;
          return counted(left.value + right.value);
        },
        10);
    CU_ASSERT_EQUAL(total.value, 499500);
  });
}

static void reduction_throws_and_leaves_nothing()
{
  for (std::uint32_t workers = 0; workers <= 2; workers++) {
    ws::pool pool(settings_of(workers));
    CU_ASSERT_FALSE(reduction_throws(pool, -1, 1000000));
    CU_ASSERT_EQUAL(counted::alive, 0);
    CU_ASSERT_TRUE(reduction_throws(pool, 500, 1000000)); // in a piece
    CU_ASSERT_TRUE(reduction_throws(pool, -1, 999)); // in a piece, or between two
    counted::copies_left = 0; // of the neutral value
    CU_ASSERT_TRUE(reduction_throws(pool, -1, 1000000));
    counted::copies_left = 1000000;
    CU_ASSERT_EQUAL(counted::alive, 0);
  }
}

/// The numbers have the common type of both bounds.
static void bounds_of_two_types()
{
  ws::pool pool(settings_of(2));
  const std::vector<int> values(100, 2);
  std::atomic<std::size_t> sum{0};
  ws::parallel_for(pool, 0, values.size(), [&](auto i) {
    static_assert(std::is_same_v<decltype(i), std::size_t>);
    sum += i;
  });
  CU_ASSERT_EQUAL(sum.load(), 4950);
  const long total = ws::parallel_reduce(
      pool, 0u, 100l, 0l, [](long i) { return i; }, std::plus<>());
  CU_ASSERT_EQUAL(total, 4950);
  std::atomic<int> calls{0};
  ws::parallel_for(pool, 0u, -1, [&](unsigned) { calls++; }); // empty
  ws::parallel_for(pool, -3, 2l, [&](long) { calls++; });
  CU_ASSERT_EQUAL(calls.load(), 5);
}

static int begin_below_zero(void *)
{
  ws::pool pool(settings_of(1));
  ws::parallel_for(pool, -1, 5u, [](unsigned) {});
  return 0;
}

static void negative_begin_of_unsigned_numbers()
{
  CU_ASSERT_EQUAL(test_in_child(begin_below_zero, nullptr), 128 + SIGABRT);
}

static void invoke()
{
  ws::pool pool(settings_of(2));
  std::atomic<int> sum{0};
  int only = 0;
  ws::parallel_invoke(pool, [&only] { only = 1; });
  ws::parallel_invoke(
      pool, [&sum] { sum += 1; }, [&sum] { return sum += 10; }, [&sum]() mutable { sum += 100; });
  CU_ASSERT_EQUAL(only, 1);
  CU_ASSERT_EQUAL(sum.load(), 111);
  CU_ASSERT_TRUE(throws<int>([&] {
    ws::parallel_invoke(
        pool, [] {}, [] { throw 3; });
  }));
  pool.submit([&] {
        ws::parallel_invoke(
            pool, [&sum] { sum = 1; }, [&only] { only = 2; });
      })
      .get();
  CU_ASSERT_EQUAL(sum + only, 3);
  pool.stop(WS_STOP_DRAIN);
  const auto constant = [&sum] { sum++; };
  ws::parallel_invoke(pool, constant, constant);
  CU_ASSERT_EQUAL(sum.load(), 3);
}

TEST_SUITE(parallel, TEST_CASE(negative_begin_of_unsigned_numbers), TEST_CASE(bounds_of_two_types),
           TEST_CASE(invoke), TEST_CASE(loop_calls_each_number_once), TEST_CASE(loop_inside_tasks),
           TEST_CASE(loop_throws_the_first_exception), TEST_CASE(loop_skips_the_rest),
           TEST_CASE(what_is_left_is_not_pushed), TEST_CASE(loop_on_a_stopped_pool),
           TEST_CASE(sum_equals_serial), TEST_CASE(neighbours_are_combined_left_before_right),
           TEST_CASE(equal_calls_round_equally), TEST_CASE(reduction_throws_and_leaves_nothing))
