// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pool.hpp
/// The pool from C++17 on. Header only: the functions of ws_pool.h with callables, futures and exceptions.
///
/// @code
///   ws::pool pool(4);
///   ws::future<int> answer = pool.submit([] { return 6 * 7; });
///   ws::parallel_for(pool, 0, 1000, [&](int i) { y[i] = f(x[i]); });
///   std::printf("%d\n", answer.get());
/// @endcode
///
/// | header              | has                                                                     |
/// |---------------------|-------------------------------------------------------------------------|
/// | ws_pool_owner.hpp   | ws::pool: push, submit, get, wait, stop                                  |
/// | ws_future.hpp       | ws::future; the rules for waiting inside a task                          |
/// | ws_promise.hpp      | ws::promise; ws::future::then                                            |
/// | ws_coroutine.hpp    | C++20's coroutines: not included here                                    |
/// | ws_group.hpp        | ws::group: tasks that are waited for together                            |
/// | ws_parallel.hpp     | ws::parallel_for, ws::parallel_reduce, ws::parallel_invoke               |
/// | ws_stop.hpp         | ws::stop_source, ws::stop_token, ws::stop_callback                       |
/// | ws_stop_scope.hpp   | ws::stop_scope: a stop ends the caller's waits                           |
/// | ws_key.hpp          | ws::key: cancel tasks, and count them                                    |
/// | ws_record.hpp       | ws::node, ws::priority: hints for a task                                 |
/// | ws_context.hpp      | ws::context, ws::fiber: callables that run as fibers, and can yield      |
/// | ws_fiber.hpp        | ws::this_fiber, ws::fiber_local: not included here                      |
/// | ws_sync.hpp         | locks and waits of fibers as the standard library's: not included here  |
/// | ws_channel.hpp      | ws::channel, a queue between fibers: not included here                  |
/// | ws_task.hpp         | ws::task: a callable without its type                                    |
/// | ws_except.hpp       | ws::cancelled; builds without exceptions                                 |
///
/// Memory: each thread keeps blocks for the tasks and futures that it submits, as many as were in use at
/// once, until it ends. A submit calls malloc only for further ones, and for a callable or a result above 200
/// bytes or aligned more strictly than a pointer.
///
/// The pool's own functions (ws_pool_stats(), ws_pool_prewake(), ...) take pool.native().
#ifndef WS_POOL_HPP
#define WS_POOL_HPP

#include "ws_group.hpp" // IWYU pragma: export
#include "ws_parallel.hpp" // IWYU pragma: export
#include "ws_pool_owner.hpp" // IWYU pragma: export
#include "ws_promise.hpp" // IWYU pragma: export

#endif
