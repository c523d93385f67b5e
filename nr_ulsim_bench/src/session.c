// SPDX-License-Identifier: BSD-3-Clause
#include "session.h"

#include "threads.h"

bool session_check_tasks(session_t *session, uint64_t pushed_tasks)
{
  const uint64_t run_tasks = threads_run_tasks();
  if (run_tasks == pushed_tasks)
    return true;
  report_error(session->report, "%llu tasks pushed, %llu run when the wait returned",
               (unsigned long long)pushed_tasks, (unsigned long long)run_tasks);
  return false;
}
