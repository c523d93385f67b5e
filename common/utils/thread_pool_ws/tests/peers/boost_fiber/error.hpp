// SPDX-License-Identifier: BSD-3-Clause
/// @file error.hpp
/// Exceptions of Boost.Fiber.
#ifndef WS_PEERS_BOOST_FIBER_ERROR_HPP
#define WS_PEERS_BOOST_FIBER_ERROR_HPP

#include <system_error>

namespace boost {
namespace fibers {

struct fiber_error : std::system_error {
  fiber_error(std::errc why, const char *what) : std::system_error(std::make_error_code(why), what) {}
};
struct future_error : fiber_error {
  explicit future_error(const char *what) : fiber_error(std::errc::operation_not_permitted, what) {}
};
struct future_uninitialized : future_error {
  future_uninitialized() : future_error("the future has no state") {}
};
struct future_already_retrieved : future_error {
  future_already_retrieved() : future_error("the future was retrieved before") {}
};
struct broken_promise : future_error {
  broken_promise() : future_error("the promise has ended without a result") {}
};
struct promise_already_satisfied : future_error {
  promise_already_satisfied() : future_error("the promise has a result") {}
};
struct promise_uninitialized : future_error {
  promise_uninitialized() : future_error("the promise has no state") {}
};
struct packaged_task_uninitialized : future_error {
  packaged_task_uninitialized() : future_error("the packaged_task has no state") {}
};

} // namespace fibers
} // namespace boost

#endif
