// SPDX-License-Identifier: BSD-3-Clause
/// @file process.h
/// Child processes that end: with their parent, after a time, or when asked to.
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/// @brief The calling process is killed when its parent dies.
void process_die_with_parent(void);

/// @return a child of the normal class that computes all the time, -1 = none could be made
pid_t process_start_hog(void);

/// @brief Kill a child and wait until it is gone.
void process_end(pid_t process);

/// @brief Let the kernel kill this process when process_set_limit() has run out.
/// A parent that waits for the moment could not, when real-time workers spin on every CPU, and a parent that
/// outranks them can spin itself: reaping a process waits for a thread that looks at it in /proc, which may
/// be one that the parent keeps off the CPU.
/// @return false with errno set
bool process_limit(timer_t *timer, double limit_s);

/// @brief Begin anew: it is killed after @p limit_s from now.
bool process_set_limit(timer_t timer, double limit_s);

#endif
