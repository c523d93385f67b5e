// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_resume.h
/// Wake the waiter of a record that was removed from the lot. LOT.md, "Resuming and the end of a pool".
#ifndef WS_RESUME_H
#define WS_RESUME_H

#include "ws_fiber_types.h"

/// @brief Under the lock of the bucket, as the record is removed: the fiber's pool must live until the
/// resume is over.
void ws_resume_begin(const ws_waiter_t *waiter);

/// @brief Wake the waiters of a list of removed records, linked by next. No lock may be held.
void ws_resume(ws_waiter_t *first);

/// @brief Wait until no thread is in the middle of a resume of a fiber of @p pool.
void ws_resume_drain(struct ws_pool_s *pool);

#endif
