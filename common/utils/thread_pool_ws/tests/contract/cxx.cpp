// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx.cpp
/// Every header in C++: shape A as C++11, the others as C++17. The host's own headers do not say extern "C",
/// so a unit that calls the pool's functions says it for them.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#if !defined(CONTRACT_OURS)
#include <atomic> // theirs includes it where templates are not allowed
#endif
#if !defined(CONTRACT_SHAPE_A)
#include "task_ans.h"
#endif
extern "C" {
#include "thread-pool.h"
#if !defined(CONTRACT_SHAPE_A)
#include "notified_fifo.h"
#endif
#include "cxx_layout.h"
}

bool cxx_plain();

namespace {

constexpr int Jobs = 100;

struct Job {
  int in;
  int out;
#if !defined(CONTRACT_SHAPE_A)
  task_ans_t *ans;
#endif
};

void run(void *jobArg)
{
  Job *job = static_cast<Job *>(jobArg);
  job->out = job->in + 1;
#if !defined(CONTRACT_SHAPE_A)
  completed_task_ans(job->ans);
#endif
}

int sum(tpool_t *pool)
{
  static Job job[Jobs];
  int total = 0;
#if defined(CONTRACT_SHAPE_A)
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
#elif defined(CONTRACT_SHAPE_B1)
  static task_ans_t ans[Jobs];
#else
  static task_ans_t ans[1];
  init_task_ans(ans, Jobs);
#endif
  for (int i = 0; i < Jobs; i++) {
    job[i].in = i;
#if defined(CONTRACT_SHAPE_A)
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(0, 0, &response, run);
    elt->msgData = &job[i];
    pushTpool(pool, elt);
#else
    job[i].ans = &ans[static_cast<std::size_t>(i) % (sizeof(ans) / sizeof(ans[0]))];
    task_t task = {&job[i], run};
    pushTpool(pool, task);
#endif
  }
#if defined(CONTRACT_SHAPE_A)
  for (int i = 0; i < Jobs; i++)
    delNotifiedFIFO_elt(pullTpool(&response, pool));
#elif defined(CONTRACT_SHAPE_B1)
  join_task_ans(ans, Jobs);
#else
  join_task_ans(ans);
#endif
  for (const Job &each : job)
    total += each.out;
  return total;
}

/// The host's C and C++ files pass each other these objects.
bool layout_is_as_in_c()
{
  const std::size_t here[] = {CONTRACT_LAYOUT(alignof)};
  uint32_t i = 0;
  for (const std::size_t each : here)
    if (contract_layout(i++) != each)
      return false;
  return contract_layout(i) == 0;
}

} // namespace

int main()
{
  static tpool_t pool;
  char params[] = "-1,-1";
  initTpool(params, &pool, false);
  const bool good = sum(&pool) == Jobs * (Jobs + 1) / 2 && cxx_plain() && layout_is_as_in_c();
  std::puts(good ? "C++: good" : "C++: another sum or layout");
  return good ? 0 : 1;
}
