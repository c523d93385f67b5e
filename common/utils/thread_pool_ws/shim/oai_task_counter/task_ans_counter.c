// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans_counter.c
/// OAI's join counter (shapes B2, B2+).
///
/// A task completes its answer itself, somewhere in its function, and its push does not name the answer. So
/// the pool could not tell which tasks a joining thread may run. But a thread arms an answer, pushes the
/// tasks, joins: tasks that it pushes after it armed an answer carry the tag of that answer. The guess is
/// checked whenever a task completes an answer (task_ans_trust.h); until a function is trusted its tasks
/// carry a weak tag.
#include "../common/ws_tpool_lead.h"
#include "common/utils/threadPool/task_ans.h"
#include "task_ans_trust.h"
#include "tpool_task.h"
#include "ws_group.h"

_Static_assert(sizeof(ws_group_t) == sizeof(((task_ans_t *)0)->word), "the word is a group");

/// The answer that the calling thread armed last and has not joined. Only compared, never dereferenced: it
/// may be gone.
static _Thread_local struct {
  const void *group; ///< the answer's
  ws_tpool_t *tpool; ///< where it pushed for it; NULL = nowhere yet
} armed;

static ws_group_t *group_of(task_ans_t *ans)
{
  return (ws_group_t *)(void *)&ans->word;
}

ws_group_t *ws_tpool_tag(ws_tpool_t *tpool, void (*func)(void *))
{
  if (!armed.group)
    return NULL;
  armed.tpool = tpool;
  return ws_tpool_trusts(func) ? ws_group_tag(armed.group) : ws_group_weak_tag(armed.group);
}

void init_task_ans(task_ans_t *ans, unsigned int num_jobs)
{
  ws_group_init(group_of(ans), num_jobs);
  ans->outer_group = armed.group;
  ans->outer_tpool = armed.tpool;
  armed.group = group_of(ans);
  armed.tpool = NULL;
  ws_tpool_lead_arm(__builtin_return_address(0), 1);
}

void completed_many_task_ans(task_ans_t *ans, unsigned int num_completed_jobs)
{
  ws_tpool_judge(group_of(ans), armed.group); // before: the answer may be gone after
  ws_group_complete(group_of(ans), num_completed_jobs);
}

void join_task_ans(task_ans_t *ans)
{
  ws_tpool_t *tpool = NULL;
  if (armed.group == group_of(ans)) {
    tpool = armed.tpool;
    armed.group = ans->outer_group;
    armed.tpool = ans->outer_tpool;
  }
  if (!tpool) {
    ws_group_wait(group_of(ans), NULL);
    return;
  }
  ws_group_wait(group_of(ans), ws_tpool_enter(tpool) ? tpool->pool : NULL);
  ws_tpool_leave(tpool);
}
