// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_object.h
/// The object behind a tpool_t of OAI's, and its users.
///
/// users:  OPEN --shut--> CLOSED --last user leaves--> the pool is freed
/// The object itself is never freed (200 bytes a pool): a thread may look at one whose pool is gone, and then
/// gets no access to it.
#ifndef WS_TPOOL_OBJECT_H
#define WS_TPOOL_OBJECT_H

#include "ws_pool.h"

/// Letters as in ws_types.h: S any thread, atomic; I set before the object is given out.
typedef struct ws_tpool_s {
  uint32_t users; ///< S 2 for each thread inside, + 1 = closed
  uint32_t aborted; ///< S shape A: 1 = queued elements are dropped, later ones run inline
  uint32_t delivering; ///< S shape A: threads that are about to hand a result over
  ws_pool_t *pool; ///< S NULL = tasks run inline, or it has been freed; for users that have entered
  uint32_t workers; ///< I threads that were started
  bool hints; ///< I workers may be woken ahead of a burst: ws_tpool_lead.h
  bool threads; ///< I there is, or was, a pool
  bool measure; ///< I shape A: stamp elements
  int trace_fd; ///< I shape A: pipe for elements that were pulled, -1 = none
  struct ws_tpool_s *next; ///< I in the list of all
  char report_name[64]; ///< I its name in a report; empty = no report
  bool reported; ///< the report was printed; under a lock: ws_tpool_report.c
  struct ws_tpool_s *next_report; ///< I in the list of pools with a report
} ws_tpool_t;

/// @brief Begin to use tpool->pool. @return false: it is closed and must not be used
static inline bool ws_tpool_enter(ws_tpool_t *tpool)
{
  // [edge TPOOL_USERS acq_rel] not after the pool was freed
  return !(__atomic_fetch_add(&tpool->users, 2, __ATOMIC_ACQ_REL) & 1);
}

/// @brief End the use, also if ws_tpool_enter has returned false.
void ws_tpool_leave(ws_tpool_t *tpool);

/// @brief No thread may begin to use the pool any more. It is freed as soon as the last user has left.
/// @threads  one caller
void ws_tpool_shut(ws_tpool_t *tpool);

#endif
