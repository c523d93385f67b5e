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

/// A sender that is woken for the one place, and throws, leaves it to the next; so does a receiver.
POOL_CASE(a_copy_that_throws_changes_nothing, 1)
{
  ws::channel<watched> channel(1);
  const watched first(1), second(2), third(3);
  watched into;
  const auto send = [&](const watched &value) {
    return pool.submit([&](ws::context &) { return end_of([&] { channel.send(value); }); });
  };
  channel.send(first);
  ws::future<int> throws_in_send = send(second);
  CU_ASSERT_TRUE_FATAL(await_parked(1));
  ws::future<int> sends = send(third);
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  watched::throws_in = 2; // after that of the receive
  channel.receive(into);
  CU_ASSERT_EQUAL(into.value, 1);
  CU_ASSERT_EQUAL(throws_in_send.get(), OTHER);
  CU_ASSERT_EQUAL(sends.get(), 0);
  channel.receive(into);
  CU_ASSERT_EQUAL(into.value, 3);
  const auto receive = [&](ws::context &) {
    watched to;
    return end_of([&] { channel.receive(to); }) * 100 + to.value;
  };
  ws::future<int> throws_in_receive = pool.submit(receive);
  CU_ASSERT_TRUE_FATAL(await_parked(1));
  ws::future<int> receives = pool.submit(receive);
  CU_ASSERT_TRUE_FATAL(await_parked(2));
  watched::throws_in = 2; // after that of the send
  channel.send(second);
  CU_ASSERT_EQUAL(throws_in_receive.get(), OTHER * 100);
  CU_ASSERT_EQUAL(receives.get(), 2);
}

CASE(values_that_are_left_are_destroyed)
{
  {
    ws::channel<watched> channel(3);
    for (int i = 0; i < 5; i++) {
      channel.send(i);
      if (i < 3)
        channel.receive();
    }
    CU_ASSERT_EQUAL(watched::alive, 2);
    CU_ASSERT_EQUAL(channel.size(), 2);
  }
  CU_ASSERT_EQUAL(watched::alive, 0);
}

DEATHS(a_channel_has_a_place,
       {"ws::channel::channel: 0 places", [](ws::pool &) { ws::channel<int> channel(0); }})
