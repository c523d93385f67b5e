// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_specific.hpp
/// boost::fibers::fiber_specific_ptr on ws_local.h.
#ifndef WS_PEERS_BOOST_FIBER_FIBER_SPECIFIC_HPP
#define WS_PEERS_BOOST_FIBER_FIBER_SPECIFIC_HPP

#include <memory>

#include "ws_local.h"

namespace boost {
namespace fibers {

template <typename T>
class fiber_specific_ptr {
 public:
  fiber_specific_ptr() : fiber_specific_ptr([](T *value) { delete value; }) {}
  explicit fiber_specific_ptr(void (*cleanup)(T *)) : variable_(std::make_shared<variable>())
  {
    variable_->cleanup = cleanup;
  }
  fiber_specific_ptr(const fiber_specific_ptr &) = delete;
  fiber_specific_ptr &operator=(const fiber_specific_ptr &) = delete;
  ~fiber_specific_ptr()
  {
    if (get())
      reset();
  }

  T *get() const
  {
    const value *const mine = here();
    return mine ? mine->of : nullptr;
  }
  T *operator->() const { return get(); }
  T &operator*() const { return *get(); }
  T *release() { return set(nullptr); }
  void reset(T *to = nullptr)
  {
    T *const before = set(to);
    if (before && variable_->cleanup)
      variable_->cleanup(before);
  }

 private:
  struct variable {
    ws_local_t native = {end};
    void (*cleanup)(T *) = nullptr;
  };
  /// Of one fiber. Keeps the variable, which may end before the fiber.
  struct value {
    std::shared_ptr<variable> by;
    T *of;
  };

  static void end(void *value_arg)
  {
    const std::unique_ptr<value> mine(static_cast<value *>(value_arg));
    if (mine->of && mine->by->cleanup)
      mine->by->cleanup(mine->of);
  }
  value *here() const { return static_cast<value *>(ws_local_get(&variable_->native)); }
  T *set(T *to)
  {
    if (value *const mine = here())
      return std::exchange(mine->of, to);
    std::unique_ptr<value> made(new value{variable_, to});
    if (ws_local_set(&variable_->native, made.get()) < 0)
      throw std::bad_alloc();
    made.release();
    return nullptr;
  }

  const std::shared_ptr<variable> variable_;
};

} // namespace fibers
} // namespace boost

#endif
