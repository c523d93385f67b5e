// SPDX-License-Identifier: BSD-3-Clause
/// @file all.hpp
/// Boost.Fiber on this library, for its tests: own code with its names. Headers of Boost that are not here,
/// such as Boost.Test, are the system's.
///
/// The locks and condition variables are those of ws_sync.hpp. A thread's fibers run on a pool of one worker
/// that the thread owns, so they take turns as in the original.
#ifndef WS_PEERS_BOOST_FIBER_ALL_HPP
#define WS_PEERS_BOOST_FIBER_ALL_HPP

#include <list>

#include <boost/throw_exception.hpp> // the original includes it, too: the tests use it

#include "ws_sync.hpp"

#include "../../channel.hpp"
#include "../../error.hpp"
#include "../../fiber.hpp"
#include "../../fiber_specific.hpp"
#include "../../future.hpp"

namespace boost {
namespace fibers {

using std::cv_status;
using ws::condition_variable;
using ws::mutex;
using ws::recursive_mutex;
using ws::recursive_timed_mutex;
using ws::timed_mutex;

/// Waits with any lock: each wait has a semaphore.
class condition_variable_any {
 public:
  void notify_one() { notify(1); }
  void notify_all() { notify(SIZE_MAX); }

  template <typename Lock>
  void wait(Lock &lock)
  {
    wait_until(lock, std::chrono::steady_clock::time_point::max());
  }
  template <typename Lock, typename Ready>
  void wait(Lock &lock, Ready ready)
  {
    while (!ready())
      wait(lock);
  }
  template <typename Lock, typename Time>
  cv_status wait_until(Lock &lock, const Time &time)
  {
    ws::binary_semaphore notified(0);
    {
      const std::lock_guard<mutex> own(lock_);
      waits_.push_back(&notified);
    }
    lock.unlock();
    const bool in_time = notified.try_acquire_until(time);
    {
      const std::lock_guard<mutex> own(lock_); // no notify uses the semaphore from here on
      waits_.remove(&notified);
    }
    lock.lock();
    return in_time ? cv_status::no_timeout : cv_status::timeout;
  }
  template <typename Lock, typename Time, typename Ready>
  bool wait_until(Lock &lock, const Time &time, Ready ready)
  {
    while (!ready())
      if (wait_until(lock, time) == cv_status::timeout)
        return ready();
    return true;
  }
  template <typename Lock, typename Time, typename... Ready>
  auto wait_for(Lock &lock, const Time &time, Ready... ready)
  {
    return wait_until(lock, std::chrono::steady_clock::now() + time, ready...);
  }

 private:
  void notify(std::size_t count)
  {
    const std::lock_guard<mutex> own(lock_);
    for (; count > 0 && !waits_.empty(); count--) {
      waits_.front()->release();
      waits_.pop_front();
    }
  }

  mutex lock_; ///< of the rest
  std::list<ws::binary_semaphore *> waits_; ///< oldest first
};

class barrier {
 public:
  explicit barrier(std::size_t parties)
  {
    if (parties == 0)
      throw fiber_error(std::errc::invalid_argument, "barrier");
    ws_barrier_init(&native_, static_cast<std::uint32_t>(parties));
  }
  /// @return true in one of the fibers
  bool wait() { return ws_barrier_wait(&native_) == 1; }

 private:
  ws_barrier_t native_;
};

} // namespace fibers
} // namespace boost

#endif
