// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans_lead.h
/// Some callers arm an answer a while before they push: OAI's PUSCH channel estimation arms one, with a
/// single antenna computes itself, and symbol processing pushes its tasks 30 us later. That arming is an
/// announcement of tasks, made early enough to wake a worker. Which places in the program do so is learnt.
#ifndef TASK_ANS_LEAD_H
#define TASK_ANS_LEAD_H

#include "ws_tpool.h"

/// @brief The calling thread arms an answer at @p site, a code address: wake a worker if the pushes of this
/// thread used to follow soon enough for that.
void ws_tpool_lead_arm(const void *site);

/// @brief The calling thread pushes to @p tpool: what it has armed since its last push has led to this.
void ws_tpool_lead_push(ws_tpool_t *tpool);

#endif
