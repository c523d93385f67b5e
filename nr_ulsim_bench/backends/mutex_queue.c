// SPDX-License-Identifier: BSD-3-Clause
// One queue, one mutex, one condition variable: the first generation of OAI's pool, written from its
// description.
#define MUTEX_QUEUES(workers) 1
#define BENCH_NESTED_PUSH true
#include "mutex_pool.h" // IWYU pragma: keep, for all of it
