// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_page.h
/// The page: what the pools of this process do, in a file of shared memory that other programs read
/// (`tpool-ws`), and a few words in it by which a program of the same user changes a running pool. A plug-in:
/// ws_page_null.c links in its place. With settings.live only.
///
/// File      /dev/shm/thread_pool_ws.<inode of the PID namespace>.<pid>, mode 0600, made with the first such
///           pool, removed after the last one, at exit() and dlclose(). If the process is killed, it stays: a
///           reader finds out by pid and began_ticks, and removes it.
/// Reading   A pool's guard writes the pool's part each WS_PAGE_NS, from counters that exist without it.
///           sequence is odd meanwhile: a reader copies the part, and again if sequence was odd or has
///           changed. A reader writes nothing, so the pool does not notice it.
/// Request   A writer holds a lock on the file (flock), writes word, and then into request another number
///           than known.answered. Within WS_PAGE_NS, and the time until the guard gets a CPU, the guard
///           copies the words, checks and applies them, logs a line, and answers with that number.
/// Trust     The process reads of the page only requests, and nothing that it reads is used unchecked.
/// Version   Structures of ws_stats.h have room to grow, and a later one reads as an earlier one. Any other
///           change raises WS_PAGE_VERSION, and changes nrbench/live/page.py.
#ifndef WS_PAGE_H
#define WS_PAGE_H

#include <stdalign.h>

#include "../base/ws_base.h"
#include "../base/ws_histogram.h"
#include "../include/ws_stats.h"

#define WS_PAGE_MAGIC 0x67507357u // "WsPg"
#define WS_PAGE_VERSION 1u
#define WS_PAGE_POOLS 8u ///< further ones are not shown
#define WS_PAGE_WORKERS 128u ///< of a pool; further ones count in its sums only
/// Between two writes, and the longest sleep of a guard whose pool has a page.
#define WS_PAGE_NS 200000000u

/// What can change while the pool runs.
typedef struct {
  uint32_t spin; ///< ws_spin_t
  uint32_t spin_cpu_max; ///< percent
  uint64_t lead_ns; ///< of WS_SPIN_FIXED
  uint64_t deadline_ns; ///< of a burst; 0 = learnt, or none
  uint32_t cap; ///< workers awake at most; 0 = as many as there are CPUs for
  uint32_t record; ///< not used: WS_PAGE_RECORD says it
} ws_page_settings_t;

/// Bits of a request: which of its settings count. WS_PAGE_SPIN: spin and lead_ns.
#define WS_PAGE_SPIN 1u
#define WS_PAGE_SPIN_CPU_MAX 2u
#define WS_PAGE_CAP 4u
#define WS_PAGE_DEADLINE 8u
#define WS_PAGE_RECORD 16u ///< copy the record now
#define WS_PAGE_ALL 31u

typedef struct {
  uint32_t what; ///< WS_PAGE_SPIN and so on
  uint32_t by; ///< pid of the writer, for the log
  ws_page_settings_t wanted;
} ws_page_request_t;

/// What the guard knows of the pool without a look at it.
typedef struct {
  uint64_t id; ///< 0 = no pool
  uint64_t written_ns; ///< CLOCK_MONOTONIC
  char name[64];
  uint32_t answered; ///< number of the last request
  ws_page_settings_t was, is; ///< before it; in force
  char reason[76]; ///< why it was refused; "" = it was not
} ws_page_known_t;

/// A pool's part of the page.
typedef struct {
  ws_au32_t sequence; ///< O odd = being written
  ws_au32_t request,
      word[sizeof(ws_page_request_t) / sizeof(uint32_t)]; ///< S readers': number, what is asked
  ws_page_known_t known;
  uint64_t ledger[32]; ///< ws_ledger_t, which has room to grow
  uint32_t starts[WS_HISTOGRAM_BUCKETS]; ///< from a burst's first push to its first task on a worker
  uint32_t ends[WS_HISTOGRAM_BUCKETS]; ///< of late bursts, over their limits
  ws_stats_t stats; ///< `outside` lies in worker[WS_PAGE_WORKERS]
  char stats_room[512 - sizeof(ws_stats_t)];
  ws_prewake_stats_t prewake;
  char prewake_room[1024 - sizeof(ws_prewake_stats_t)];
  struct {
    ws_worker_stats_t stats;
    char room[192 - sizeof(ws_worker_stats_t)];
    int32_t tid, cpu; ///< cpu: where it was last seen, -1 = nowhere yet
  } worker[WS_PAGE_WORKERS + 1];
} ws_page_part_t;

typedef struct {
  ws_au32_t magic; ///< 0 = not complete
  uint32_t version, bytes; ///< of the file
  ws_au32_t ended; ///< 1 = the file has been removed
  uint64_t pid; ///< in its namespace
  uint64_t began_ticks; ///< start time of the process, of /proc/<pid>/stat
  alignas(WS_SPACING) ws_page_part_t part[WS_PAGE_POOLS];
} ws_page_t;

struct ws_pool_s;

/// @brief Give the pool, whose workers exist, its part of the page; with the first one, make the page. If
/// that fails, a warning names the reason, and the pool runs without.
void ws_page_begin(struct ws_pool_s *pool);

/// @brief The threads of the pool have ended: its part is free.
void ws_page_end(struct ws_pool_s *pool);

#endif
