// SPDX-License-Identifier: BSD-3-Clause
/// @file consumer.cpp
/// As consumer.c, for the C++ headers.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "ws_group.hpp"
#include "ws_key.hpp"
#include "ws_parallel.hpp"
#include "ws_pool.hpp"

namespace {

constexpr int rounds = 200;

void require(bool condition, const char *what)
{
  if (condition)
    return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

void futures(ws::pool &pool)
{
  for (int round = 0; round < rounds; round++) {
    int x = round;
    std::string text = "task";
    ws::future<std::string> first = pool.submit([&x, &text] { return text + std::to_string(x); });
    ws::future<int> second = pool.submit([&pool, &x] { return pool.submit([&x] { return x + 1; }).get(); });
    require(second.get() == round + 1, "nested future");
    require(first.get() == "task" + std::to_string(round), "future");
  }
}

void groups(ws::pool &pool)
{
  std::vector<int> out(32);
  for (int round = 0; round < rounds; round++) {
    ws::group group;
    for (std::size_t i = 0; i < out.size(); i++)
      group.run(pool, [&out, i, round] { out[i] = round; });
    group.wait();
    require(std::accumulate(out.begin(), out.end(), 0) == 32 * round, "group");
  }
}

void loops(ws::pool &pool)
{
  std::vector<long> value(1000);
  for (int round = 0; round < rounds; round++) {
    ws::parallel_for(pool, std::size_t{0}, value.size(), [&](std::size_t i) { value[i] = round; });
    require(value.front() + value.back() == 2L * round, "parallel_for");
  }
}

void pushes(ws::pool &pool)
{
  std::vector<int> out(16);
  for (int round = 0; round < rounds; round++) {
    for (int &each : out)
      pool.push([&each, round] { each = round; });
    pool.wait();
    require(std::accumulate(out.begin(), out.end(), 0) == 16 * round, "push");
  }
}

} // namespace

int main()
{
  ws::pool pool(4);
  futures(pool);
  groups(pool);
  loops(pool);
  pushes(pool);
}
