// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans_trust.h
/// Does a task complete the answer that its thread armed last before the push? The shim assumes so, and
/// checks it for each function. A join outside the pool runs only tasks of functions for which it was always
/// true.
#ifndef TASK_ANS_TRUST_H
#define TASK_ANS_TRUST_H

#include <stdbool.h>

/// @return whether tasks of @p func were seen to complete the answer whose tag they carried, and no other
bool ws_tpool_trusts(void (*func)(void *));

/// @brief The task that the calling thread runs has completed @p ans.
/// @param armed  the answer that the calling thread has armed last and not joined: completing that one proves
///               nothing
void ws_tpool_judge(const void *ans, const void *armed);

#endif
