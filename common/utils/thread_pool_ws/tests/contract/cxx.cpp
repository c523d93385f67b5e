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
}

bool cxx_plain();
extern "C" size_t contract_layout(uint32_t i);

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

#if defined(CONTRACT_SHAPE_A)
int sum(tpool_t *pool)
{
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  for (int i = 0; i < Jobs; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(Job), 0, &response, run);
    static_cast<Job *>(NotifiedFifoData(elt))->in = i;
    pushTpool(pool, elt);
  }
  int total = 0;
  for (int i = 0; i < Jobs; i++) {
    notifiedFIFO_elt_t *elt = pullTpool(&response, pool);
    total += static_cast<Job *>(NotifiedFifoData(elt))->out;
    delNotifiedFIFO_elt(elt);
  }
  return total;
}
#else
int sum(tpool_t *pool)
{
  static Job job[Jobs];
#if defined(CONTRACT_SHAPE_B1)
  static task_ans_t ans[Jobs];
#else
  static task_ans_t ans[1];
  init_task_ans(ans, Jobs);
#endif
  for (int i = 0; i < Jobs; i++) {
    job[i].in = i;
    job[i].ans = &ans[static_cast<std::size_t>(i) % (sizeof(ans) / sizeof(ans[0]))];
    task_t task = {&job[i], run};
    pushTpool(pool, task);
  }
#if defined(CONTRACT_SHAPE_B1)
  join_task_ans(ans, Jobs);
#else
  join_task_ans(ans);
#endif
  int total = 0;
  for (const Job &each : job)
    total += each.out;
  return total;
}
#endif

} // namespace

/// The host's C and C++ files pass each other these objects.
bool layout_is_as_in_c()
{
  const std::size_t here[] = {
    sizeof(tpool_t),
    alignof(tpool_t),
#if !defined(CONTRACT_SHAPE_A)
    sizeof(task_ans_t),
    alignof(task_ans_t),
    sizeof(thread_info_tm_t),
    offsetof(tpool_t, len_thr),
#endif
  };
  uint32_t i = 0;
  for (const std::size_t each : here)
    if (contract_layout(i++) != each)
      return false;
  return contract_layout(i) == 0;
}

int main()
{
  static tpool_t pool;
  char params[] = "-1,-1";
  initTpool(params, &pool, false);
  const bool good = sum(&pool) == Jobs * (Jobs + 1) / 2 && cxx_plain() && layout_is_as_in_c();
  std::puts(good ? "C++: good" : "C++: another sum or layout");
  return good ? 0 : 1;
}
