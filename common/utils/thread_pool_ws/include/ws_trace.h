// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_trace.h
/// Events of the program in a trace. The pool records its own events (docs/tracing.md lists them); these
/// calls add the program's. Without tracing compiled in they record nothing. The first call of
/// ws_trace_run() in the process reads TPOOL_WS_TRACE, and may load LTTng's provider of the events, unless a
/// pool was created before.
#ifndef WS_TRACE_H
#define WS_TRACE_H

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// @brief Record what the task that the calling thread runs really calls: event run_as. For an interface on
/// the pool whose tasks all have the same function, which then calls the user's. Reports name the task by
/// @p func. Outside a task the event has no meaning.
/// @threads   any
/// @progress  wait-free, no system call; about 0.1 us while a session records, else about 1 ns
void ws_trace_run_as(void (*func)(void *arg), void *arg);

/// @brief Call func(arg), and record the events of a task that is pushed and run at once, with pool number 0.
/// For a program that runs the tasks itself, because it has no pool or has closed it. Ignores a NULL func.
/// @threads   any
/// @progress  that of func, and three events, each as ws_trace_run_as()
void ws_trace_run(void (*func)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
