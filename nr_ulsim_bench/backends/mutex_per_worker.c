// SPDX-License-Identifier: BSD-3-Clause
// A mutexed queue and a condition variable for each worker: the second generation of OAI's pool, written from
// its description. A push goes round-robin to the first queue whose lock is free and signals its owner only;
// a worker tries the locks of all queues before it sleeps on its own. So a task may lie behind a long one
// while another worker sleeps.
#define MUTEX_QUEUES(workers) (workers)
#define BENCH_NESTED_PUSH false // the next queue is the producer's to choose
#include "mutex_pool.h" // IWYU pragma: keep, for all of it
