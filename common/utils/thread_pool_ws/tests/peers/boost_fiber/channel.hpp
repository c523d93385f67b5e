// SPDX-License-Identifier: BSD-3-Clause
/// @file channel.hpp
/// boost::fibers::buffered_channel on ws::channel, and unbuffered_channel on ws_sync.hpp.
#ifndef WS_PEERS_BOOST_FIBER_CHANNEL_HPP
#define WS_PEERS_BOOST_FIBER_CHANNEL_HPP

#include <iterator>

#include "ws_channel.hpp"

#include "error.hpp"

namespace boost {
namespace fibers {

enum class channel_op_status { success, empty, full, closed, timeout };

/// The calls of both channels, by push_until(value, time) and pop_until(value, time) of @p Channel.
template <typename Channel, typename T>
class channel_calls {
 public:
  using value_type = T;

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T *;
    using reference = T &;

    iterator() = default;
    explicit iterator(channel_calls *of) : of_(of) { ++*this; }
    iterator &operator++()
    {
      T next{};
      value_.reset();
      if (of_->pop(next) == channel_op_status::success)
        value_.emplace(std::move(next));
      return *this;
    }
    T &operator*() { return *value_; }
    T *operator->() { return &*value_; }
    friend bool operator==(const iterator &left, const iterator &right)
    {
      return !left.value_ && !right.value_;
    }
    friend bool operator!=(const iterator &left, const iterator &right) { return !(left == right); }

   private:
    channel_calls *of_ = nullptr;
    std::optional<T> value_; ///< nothing: the end
  };
  iterator begin() { return iterator(this); }
  iterator end() { return iterator(); }

  channel_op_status push(T &&value) { return self().push_until(std::move(value), always()); }
  channel_op_status push(const T &value) { return self().push_until(T(value), always()); }
  template <typename Value, typename Time>
  channel_op_status push_wait_for(Value &&value, const Time &time)
  {
    return self().push_until(T(std::forward<Value>(value)), std::chrono::steady_clock::now() + time);
  }
  template <typename Value, typename Time>
  channel_op_status push_wait_until(Value &&value, const Time &time)
  {
    return self().push_until(T(std::forward<Value>(value)), time);
  }
  channel_op_status pop(T &value) { return self().pop_until(value, always()); }
  T value_pop()
  {
    T value{};
    if (pop(value) != channel_op_status::success)
      throw fiber_error(std::errc::operation_not_permitted, "value_pop: the channel is closed");
    return value;
  }
  template <typename Time>
  channel_op_status pop_wait_for(T &value, const Time &time)
  {
    return self().pop_until(value, std::chrono::steady_clock::now() + time);
  }
  template <typename Time>
  channel_op_status pop_wait_until(T &value, const Time &time)
  {
    return self().pop_until(value, time);
  }

 private:
  static constexpr auto always() { return std::chrono::steady_clock::time_point::max(); }
  Channel &self() { return static_cast<Channel &>(*this); }
};

/// As in the original, one of the places stays free, and their number is a power of two.
template <typename T>
class buffered_channel : public channel_calls<buffered_channel<T>, T> {
 public:
  explicit buffered_channel(std::size_t places) : native_(checked(places) - 1) {}

  channel_op_status try_push(T &&value) { return status(native_.try_send(std::move(value))); }
  channel_op_status try_push(const T &value) { return status(native_.try_send(value)); }
  channel_op_status try_pop(T &value) { return status(native_.try_receive(value)); }
  void close() { native_.close(); }
  bool is_closed() const { return native_.is_closed(); }

  template <typename Time>
  channel_op_status push_until(T &&value, const Time &time)
  {
    return status(native_.send_until(std::move(value), time));
  }
  template <typename Time>
  channel_op_status pop_until(T &value, const Time &time)
  {
    return status(native_.receive_until(value, time));
  }

 private:
  static std::size_t checked(std::size_t places)
  {
    if (places < 2 || (places & (places - 1)) != 0)
      throw fiber_error(std::errc::invalid_argument, "buffered_channel: not a power of two above 1");
    return places;
  }
  static channel_op_status status(ws::channel_status native)
  {
    switch (native) {
      case ws::channel_status::done:
        return channel_op_status::success;
      case ws::channel_status::full:
        return channel_op_status::full;
      case ws::channel_status::empty:
        return channel_op_status::empty;
      case ws::channel_status::timeout:
        return channel_op_status::timeout;
      default:
        return channel_op_status::closed;
    }
  }

  ws::channel<T> native_;
};

/// Each push waits for its pop.
template <typename T>
class unbuffered_channel : public channel_calls<unbuffered_channel<T>, T> {
 public:
  ~unbuffered_channel() { close(); }

  void close()
  {
    const std::lock_guard<ws::mutex> held(lock_);
    closed_ = true;
    if (offered_)
      offered_->taken.notify_one();
    pushes_.notify_all();
    pops_.notify_all();
  }
  bool is_closed() const
  {
    const std::lock_guard<ws::mutex> held(lock_);
    return closed_;
  }

  template <typename Time>
  channel_op_status push_until(T &&value, const Time &time)
  {
    std::unique_lock<ws::mutex> held(lock_);
    if (!pushes_.wait_until(held, time, [this] { return closed_ || !offered_; }))
      return channel_op_status::timeout;
    if (closed_)
      return channel_op_status::closed;
    offer mine{&value, {}};
    offered_ = &mine;
    pops_.notify_one();
    mine.taken.wait_until(held, time, [&] { return closed_ || !mine.value; });
    if (!mine.value)
      return channel_op_status::success;
    offered_ = nullptr;
    pushes_.notify_one();
    return closed_ ? channel_op_status::closed : channel_op_status::timeout;
  }
  template <typename Time>
  channel_op_status pop_until(T &value, const Time &time)
  {
    std::unique_lock<ws::mutex> held(lock_);
    if (!pops_.wait_until(held, time, [this] { return closed_ || offered_; }))
      return channel_op_status::timeout;
    if (closed_)
      return channel_op_status::closed;
    offer *const from = std::exchange(offered_, nullptr);
    value = std::move(*std::exchange(from->value, nullptr));
    from->taken.notify_one();
    pushes_.notify_one();
    return channel_op_status::success;
  }

 private:
  struct offer {
    T *value; ///< null = it was taken
    ws::condition_variable taken;
  };

  mutable ws::mutex lock_; ///< of the rest
  bool closed_ = false;
  offer *offered_ = nullptr;
  ws::condition_variable pushes_, pops_; ///< there is no offer; there is one
};

} // namespace fibers
} // namespace boost

#endif
