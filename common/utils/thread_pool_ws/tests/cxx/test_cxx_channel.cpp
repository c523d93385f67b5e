// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_channel.cpp
/// ws::channel: order, limit, end, time limits, cancels, and values that throw.
#include "../../include/ws_channel.hpp"

#include "cxx_scene.hpp"

using status = ws::channel_status;

/// Fibers, tasks and threads, on both sides: each value comes out once, in the order of its sender.
POOL_CASE(values_keep_their_order_within_the_limit, 4) // two tasks keep two workers
{
  constexpr int EACH = 500, SIDES = 3;
  struct sent {
    int side, number;
  };
  ws::channel<sent> channel(2);
  std::atomic<int> count{0}, sum{0}, wrong{0}, left{SIDES};
  const auto send = [&](int side) {
    for (int i = 1; i <= EACH; i++)
      channel.send({side, i});
    if (--left == 0)
      channel.close();
  };
  const auto receive = [&] {
    int last[SIDES] = {};
    for (sent value; channel.receive(value) == status::done; count++) {
      wrong += value.number <= std::exchange(last[value.side], value.number);
      wrong += channel.size() > channel.places();
      sum += value.number;
    }
  };
  ws::group group;
  group.run(pool, [&] { send(0); });
  group.run(pool, receive);
  group.run(pool, [&](ws::context &) { send(1); });
  group.run(pool, [&](ws::context &) { receive(); });
  std::thread sends([&] { send(2); }), receives(receive);
  sends.join();
  receives.join();
  group.wait();
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(count, SIDES * EACH);
  CU_ASSERT_EQUAL(sum, SIDES * EACH * (EACH + 1) / 2);
}

CASE(a_call_that_does_not_end_with_done_changes_nothing)
{
  ws::channel<std::string> channel(2);
  std::string text = "three", into = "before";
  const auto receive = TIMED(channel.receive, into, limit);
  const auto send = TIMED(channel.send, std::move(text), limit);
  CU_ASSERT(channel.try_receive(into) == status::empty);
  CU_ASSERT_TRUE(ends_at_limits([&](auto limit) { return receive(limit) != status::timeout; }));
  CU_ASSERT(channel.try_send("one") == status::done);
  CU_ASSERT(channel.send_until("two", steady_clock::time_point::min()) == status::done); // it need not wait
  CU_ASSERT_TRUE(ends_at_limits([&](auto limit) { return send(limit) != status::timeout; }));
  CU_ASSERT(channel.try_send(text) == status::full);
  CU_ASSERT(channel.try_send(std::move(text)) == status::full);
  CU_ASSERT_EQUAL(into, "before");
  CU_ASSERT(channel.receive_for(into, -1h) == status::done);
  CU_ASSERT_EQUAL(into, "one");
  channel.close();
  channel.close();
  CU_ASSERT_TRUE(channel.is_closed());
  CU_ASSERT(channel.try_send(text) == status::closed);
  CU_ASSERT(channel.send(std::move(text)) == status::closed);
  CU_ASSERT_EQUAL(text, "three"); // not moved from
  CU_ASSERT_EQUAL(channel.receive().value(), "two"); // what was sent before is received
  CU_ASSERT_FALSE(channel.receive().has_value());
  CU_ASSERT(channel.try_receive(into) == status::closed);
}

/// Fibers that wait for a place, and others that wait for a value.
POOL_CASE(closes_cancels_and_aborts_end_waits, 1)
{
  ws::channel<int> full(1), empty(1), other(1);
  full.send(0);
  ws_cancel_t cancel = WS_CANCEL_INIT;
  const auto receive = [&] {
    int into;
    return other.receive(into);
  };
  std::vector<ws::future<status>> closed;
  for (int i = 1; i <= 3; i++) {
    closed.push_back(pool.submit([&full, i](ws::context &) { return full.send(i); }));
    closed.push_back(pool.submit([&empty](ws::context &) {
      int into;
      return empty.receive_until(into, system_clock::now() + 1h);
    }));
  }
  ws::future<status> aborted = pool.submit([&](ws::context &) { return receive(); });
  ws::future<status> cancelled = pool.submit([&](ws::context &) {
    ws_cancel_use(&cancel);
    return receive();
  });
  CU_ASSERT_TRUE_FATAL(await_parked(closed.size() + 2));
  full.close();
  empty.close();
  for (ws::future<status> &end : closed)
    CU_ASSERT(end.get() == status::closed);
  CU_ASSERT_EQUAL(full.receive().value(), 0);
  CU_ASSERT_FALSE(full.receive().has_value());
  ws_cancel_request(&cancel);
  CU_ASSERT(cancelled.get() == status::cancelled);
  pool.stop(WS_STOP_ABORT);
  CU_ASSERT(aborted.get() == status::cancelled);
  ws_cancel_t *before = ws_cancel_use(&cancel); // of this thread
  CU_ASSERT(receive() == status::cancelled);
  other.send(4);
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
POOL_CASE(a_copy_that_throws_changes_nothing, 1)
{
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

CASE(values_that_are_left_are_destroyed)
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

CASE(a_channel_has_a_place)
{
  CU_ASSERT_TRUE(dies({"ws::channel::channel: 0 places", [](ws::pool &) { ws::channel<int> channel(0); }}));
}
