// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans_trust.c
/// task_ans_trust.h.
///
/// A function's life:  unknown --TRUST_MIN right answers--> trusted --a wrong one--> distrusted (final)
///                             --a wrong one--> distrusted
#include "task_ans_trust.h"

#include <stddef.h>

#include "ws_pool.h"

/// Number of functions that are remembered; further ones are not trusted. OAI has ten.
#define FUNCTIONS 64u
#define TRUST_MIN 8u
#define DISTRUSTED UINT32_MAX

typedef struct {
  uintptr_t func; ///< S 0 = free; set once
  uint32_t state; ///< S right answers so far, at most TRUST_MIN, or DISTRUSTED
} trust_t;

static trust_t trusts[FUNCTIONS];

/// @param add  take a free one when it has none
/// @return NULL: there is none
static trust_t *find(uintptr_t func, bool add)
{
  for (uint32_t probe = 0; probe < FUNCTIONS; probe++) {
    trust_t *trust = &trusts[(func / 16 + probe) % FUNCTIONS];
    uintptr_t seen = __atomic_load_n(&trust->func, __ATOMIC_RELAXED); // relaxed: set once, and a preference
    if (seen == 0
        && add
        // relaxed: as above
        && __atomic_compare_exchange_n(&trust->func, &seen, func, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return trust;
    if (seen == func)
      return trust;
    if (seen == 0)
      return NULL;
  }
  return NULL;
}

bool ws_tpool_trusts(void (*func)(void *))
{
  const trust_t *trust = find((uintptr_t)func, false);
  return trust && __atomic_load_n(&trust->state, __ATOMIC_RELAXED) == TRUST_MIN; // relaxed: a preference
}

/// A distrusted function stays so, also if another thread counts at the same time.
static void count_right(trust_t *trust)
{
  uint32_t state = __atomic_load_n(&trust->state, __ATOMIC_RELAXED); // relaxed: a preference
  while (state < TRUST_MIN)
    // relaxed: a preference
    if (__atomic_compare_exchange_n(&trust->state, &state, state + 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return;
}

void ws_tpool_judge(const void *ans, const void *armed)
{
  const ws_task_t *task = ws_current_task();
  if (!task || !task->group || task->group == ws_group_tag(ans))
    return; // no task of ours, or as expected of a trusted one
  if (task->group != ws_group_weak_tag(ans) && ans == armed)
    return;
  trust_t *trust = find((uintptr_t)task->func, true);
  if (!trust)
    return;
  if (task->group == ws_group_weak_tag(ans))
    count_right(trust);
  else
    __atomic_store_n(&trust->state, DISTRUSTED, __ATOMIC_RELAXED); // relaxed: a preference
}
