// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_channel.cpp
/// ws::channel: order, limit, end, time limits, cancels, and values that throw. Built for C++17 and C++20.
#include "../../include/ws_channel.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cxx_fibers.hpp"

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using status = ws::channel_status;

/// Two fibers on one worker.
void values_keep_their_order_within_the_limit()
{
  constexpr int COUNT = 1000;
  ws::pool pool(settings_of(1));
  ws::channel<std::unique_ptr<int>> channel(3);
  std::vector<int> out;
  std::size_t most = 0;
  ws::group group;
  group.run(pool, [&](ws::context &) {
    for (int i = 0; i < COUNT; i++)
      channel.send(std::make_unique<int>(i));
    channel.close();
  });
  group.run(pool, [&](ws::context &) {
    while (std::optional<std::unique_ptr<int>> value = channel.receive()) {
      most = std::max(most, channel.size());
      out.push_back(**value);
    }
  });
  group.wait();
  CU_ASSERT_EQUAL_FATAL(out.size(), COUNT);
  for (int i = 0; i < COUNT; i++)
    CU_ASSERT_EQUAL(out[static_cast<std::size_t>(i)], i);
  CU_ASSERT(most >= 1 && most <= channel.places());
}

/// Fibers, tasks and threads, on both sides: each value comes out once.
void every_kind_of_caller_may_use_it()
{
  constexpr int EACH = 500, SIDES = 3;
  ws::pool pool(settings_of(4)); // two tasks keep two workers
  ws::channel<int> channel(2);
  std::atomic<int> count{0}, sum{0}, left{SIDES};
  const auto sender = [&] {
    for (int i = 1; i <= EACH; i++)
      channel.send(i);
    if (--left == 0)
      channel.close();
  };
  const auto receiver = [&] {
    for (int value; channel.receive(value) == status::done; count++)
      sum += value;
  };
  ws::group group;
  group.run(pool, sender);
  group.run(pool, receiver);
  group.run(pool, [&](ws::context &) { sender(); });
  group.run(pool, [&](ws::context &) { receiver(); });
  std::thread sends(sender), receives(receiver);
  sends.join();
  receives.join();
  group.wait();
  CU_ASSERT_EQUAL(count, SIDES * EACH);
  CU_ASSERT_EQUAL(sum, SIDES * EACH * (EACH + 1) / 2);
}

void tries_return_at_once()
{
  ws::channel<std::string> channel(2);
  std::string text = "three", into = "before";
  CU_ASSERT(channel.try_receive(into) == status::empty);
  CU_ASSERT(channel.try_send("one") == status::done);
  CU_ASSERT(channel.send("two") == status::done);
  CU_ASSERT(channel.try_send(text) == status::full);
  CU_ASSERT(channel.try_send(std::move(text)) == status::full);
  CU_ASSERT_EQUAL(text, "three"); // not moved from
  CU_ASSERT_EQUAL(into, "before");
  CU_ASSERT(channel.try_receive(into) == status::done);
  CU_ASSERT_EQUAL(into, "one");
  channel.close();
  channel.close();
  CU_ASSERT_TRUE(channel.is_closed());
  CU_ASSERT(channel.try_send(text) == status::closed);
  CU_ASSERT(channel.send(std::move(text)) == status::closed);
  CU_ASSERT_EQUAL(text, "three");
  CU_ASSERT_EQUAL(channel.receive().value(), "two"); // what was sent before is received
  CU_ASSERT_FALSE(channel.receive().has_value());
  CU_ASSERT(channel.try_receive(into) == status::closed);
}

void time_limits_end_waits()
{
  ws::channel<int> channel(1);
  int into = 5;
  CU_ASSERT(channel.receive_for(into, milliseconds(1)) == status::timeout);
  CU_ASSERT(channel.receive_until(into, system_clock::now() - hours(1)) == status::timeout);
  CU_ASSERT(channel.send_until(1, steady_clock::time_point::min()) == status::done); // need not wait
  CU_ASSERT(channel.send_for(2, milliseconds(1)) == status::timeout);
  CU_ASSERT(channel.send_until(2, steady_clock::now() + milliseconds(1)) == status::timeout);
  CU_ASSERT(channel.receive_for(into, -hours(1)) == status::done);
  CU_ASSERT_EQUAL(into, 1);
  ws::pool pool(settings_of(1));
  const auto limited = [&](ws::context &) { return channel.receive_for(into, milliseconds(1)); };
  CU_ASSERT(pool.submit(limited).get() == status::timeout);
  ws::future<status> fiber =
      pool.submit([&](ws::context &) { return channel.receive_until(into, system_clock::now() + hours(1)); });
  CU_ASSERT_TRUE(await_parked(1));
  channel.send(6);
  CU_ASSERT(fiber.get() == status::done);
  CU_ASSERT_EQUAL(into, 6);
}

/// Fibers that wait for a place, and others that wait for a value.
void close_ends_waits_on_both_sides()
{
  ws::pool pool(settings_of(1));
  ws::channel<int> full(1), empty(1);
  full.send(0);
  std::vector<ws::future<status>> ends;
  for (int i = 1; i <= 3; i++) {
    ends.push_back(pool.submit([&full, i](ws::context &) { return full.send(i); }));
    ends.push_back(pool.submit([&empty](ws::context &) {
      int into;
      return empty.receive(into);
    }));
  }
  CU_ASSERT_TRUE_FATAL(await_parked(ends.size()));
  full.close();
  empty.close();
  for (ws::future<status> &end : ends)
    CU_ASSERT(end.get() == status::closed);
  CU_ASSERT_EQUAL(full.receive().value(), 0);
  CU_ASSERT_FALSE(full.receive().has_value());
}

void cancels_and_aborts_end_waits()
{
  ws::pool pool(settings_of(1));
  ws::channel<int> channel(1);
  ws_cancel_t cancel = WS_CANCEL_INIT;
  const auto receive = [&] {
    int into;
    return channel.receive(into);
  };
  ws::future<status> cancelled = pool.submit([&](ws::context &) {
    ws_cancel_use(&cancel);
    return receive();
  });
  ws::future<status> aborted = pool.submit([&](ws::context &) { return receive(); });
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  ws_cancel_request(&cancel);
  CU_ASSERT(cancelled.get() == status::cancelled);
  CU_ASSERT_TRUE(await_parked(1));
  pool.stop(WS_STOP_ABORT);
  CU_ASSERT(aborted.get() == status::cancelled);
  ws_cancel_t *before = ws_cancel_use(&cancel); // of this thread
  CU_ASSERT(receive() == status::cancelled);
  channel.send(4);
  CU_ASSERT(receive() == status::done); // it need not wait
  ws_cancel_use(before);
}

/// The copy throws that makes the count 0; nullptr = none does.
struct fragile {
  int number;
  std::atomic<int> *until;
  fragile(int value, std::atomic<int> *copies) : number(value), until(copies) {}
  fragile(const fragile &other) : number(other.number), until(other.until) { other.check(); }
  fragile &operator=(const fragile &other)
  {
    other.check();
    number = other.number;
    return *this;
  }
  void check() const
  {
    if (until && --*until == 0)
      throw std::runtime_error("no copy");
  }
};

/// A sender that is woken for the one place, and throws, leaves it to the next; so does a receiver.
void a_copy_that_throws_changes_nothing()
{
  ws::pool pool(settings_of(1));
  ws::channel<fragile> channel(1);
  std::atomic<int> first_copy{1}, second_copy{2};
  const fragile first(1, nullptr), second(2, nullptr), broken(3, &first_copy), breaks_later(4, &second_copy);
  fragile into(0, nullptr);
  CU_ASSERT(channel.send(first) == status::done);
  ws::future<status> throws_in_send = pool.submit([&](ws::context &) { return channel.send(broken); });
  CU_ASSERT_TRUE_FATAL(await_parked(1));
  ws::future<status> next = pool.submit([&](ws::context &) { return channel.send(second); });
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  CU_ASSERT(channel.receive(into) == status::done);
  CU_ASSERT_EQUAL(into.number, 1);
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { throws_in_send.get(); }));
  CU_ASSERT(next.get() == status::done);
  CU_ASSERT(channel.receive(into) == status::done);
  CU_ASSERT_EQUAL(into.number, 2);

  const auto receive = [&](ws::context &) {
    fragile to(0, nullptr);
    channel.receive(to);
    return to.number;
  };
  ws::future<int> throws_in_receive = pool.submit(receive);
  CU_ASSERT_TRUE_FATAL(await_parked(1));
  ws::future<int> receives = pool.submit(receive);
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  CU_ASSERT(channel.send(breaks_later) == status::done); // its second copy throws
  CU_ASSERT_TRUE(throws<std::runtime_error>([&] { throws_in_receive.get(); }));
  CU_ASSERT_EQUAL(receives.get(), 4);
}

void values_that_are_left_are_destroyed()
{
  const std::shared_ptr<int> value = std::make_shared<int>(1);
  {
    ws::channel<std::shared_ptr<int>> channel(3);
    for (int i = 0; i < 5; i++) {
      channel.send(value);
      if (i < 3)
        channel.receive();
    }
    CU_ASSERT_EQUAL(value.use_count(), 3);
    CU_ASSERT_EQUAL(channel.size(), 2);
  }
  CU_ASSERT_EQUAL(value.use_count(), 1);
}

} // namespace

TEST_SUITE(channel, TEST_CASE(values_keep_their_order_within_the_limit),
           TEST_CASE(every_kind_of_caller_may_use_it), TEST_CASE(tries_return_at_once),
           TEST_CASE(time_limits_end_waits), TEST_CASE(close_ends_waits_on_both_sides),
           TEST_CASE(cancels_and_aborts_end_waits), TEST_CASE(a_copy_that_throws_changes_nothing),
           TEST_CASE(values_that_are_left_are_destroyed))
