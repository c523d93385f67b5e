// SPDX-License-Identifier: BSD-3-Clause
/// @file 4_channels.cpp
/// docs/tutorial.md, step 4: fibers that wait for each other by channels. A fiber that waits gives its worker
/// to others, so three stages and two channels need one worker only.
#include <cstdint>
#include <cstdio>
#include <optional>

#include <ws_channel.hpp>
#include <ws_pool.hpp>

namespace {
constexpr std::uint64_t frames = 10000;

struct Frame {
  std::uint64_t number, value;
};
} // namespace

int main()
{
  ws::pool pool(1);
  ws::channel<Frame> received(16), decoded(16); // a stage that is ahead by 16 frames waits
  std::uint64_t sum = 0;
  ws::group group;

  group.run(pool, [&](ws::context &) {
    for (std::uint64_t i = 0; i < frames; i++)
      received.send(Frame{i, 0});
    received.close();
  });
  group.run(pool, [&](ws::context &) {
    while (std::optional<Frame> frame = received.receive()) { // empty: closed, and all were received
      frame->value = frame->number * frame->number;
      decoded.send(*frame);
    }
    decoded.close();
  });
  group.run(pool, [&](ws::context &) {
    while (std::optional<Frame> frame = decoded.receive())
      sum += frame->value;
  });
  group.wait(); // throws the first exception of a fiber

  std::printf("the squares of %llu frames add up to %llu\n", static_cast<unsigned long long>(frames),
              static_cast<unsigned long long>(sum));
  return sum == (frames - 1) * frames * (2 * frames - 1) / 6 ? 0 : 1;
}
