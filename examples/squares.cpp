// SPDX-License-Identifier: BSD-3-Clause
/// @file squares.cpp
/// squares.c in C++: a burst of tasks, a future, and a loop.
#include <cstdio>
#include <vector>

#include <ws_pool.hpp>

int main()
{
  ws::pool pool(2);
  std::vector<int> squares(100);
  ws::group group;
  for (int i = 0; i < 50; i++)
    group.run(pool, [&squares, i] { squares[static_cast<std::size_t>(i)] = i * i; });
  ws::parallel_for(pool, 50, 100, [&squares](int i) { squares[static_cast<std::size_t>(i)] = i * i; });
  group.wait();
  ws::future<int> sum = pool.submit([&squares] {
    int total = 0;
    for (int square : squares)
      total += square;
    return total;
  });
  const int total = sum.get();
  std::printf("squares of 0 .. 99: %d\n", total);
  return total == 328350 ? 0 : 1;
}
