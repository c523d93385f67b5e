// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_page.h
/// The page: what the pools of this process do, in a file of shared memory that other programs read
/// (`tpool-ws`), and a request in it by which a program of the same user changes a running pool. A plug-in:
/// ws_page_null.c links in its place. With settings.live only.
///
/// File      /dev/shm/thread_pool_ws.live<digits>.<pid>, mode 0600, made with the first such pool, removed
///           after the last one, at exit() and dlclose(). The name means nothing but "live": two copies of
///           this library in a process have a page each. /dev/shm must be a tmpfs, which cannot be frozen. A
///           file that was removed, or cut short, is made again at the next write.
/// Life      The process holds flock() on the file as long as it lives, and until execve(). A mapping holds
///           the lock, of an open file that has no descriptor any more: close() cannot lose it, and the child
///           of a fork, which has not that mapping (MADV_DONTFORK), does not share it. /proc/locks has the
///           process's number by device and inode. A program that gets the lock knows that it is gone.
///           Readers remove nothing: a process that makes its page removes such files of its user, if the
///           path still names that inode.
/// Writing   No memory of the file is touched: the guard of a pool writes the pool's part by pwrite() each
///           WS_PAGE_NS, from counters that exist without it, into room that was taken beforehand.
/// Reading   sequence is odd meanwhile. A reader reads it, the part, and it again, and all once more if it
///           was odd or has changed. A reader writes nothing, so the pool does not notice it.
/// Request   Two bytes are locked by fcntl(F_OFD_SETLK), for writing:
///             WS_PAGE_ASKER  by the one program that may ask, while it waits for an answer, or holds
///             WS_PAGE_TAKE   for a moment, by who reads or writes a request
///           The program takes TAKE, then ASKER, writes a request with its session and number 0, and lets go
///           of TAKE. If another one has ASKER, the request there says which.
///           To ask, it takes TAKE, writes the request with the number known.answered + 1 (0 is left out),
///           and lets go. Within WS_PAGE_NS, and the time until the guard gets a CPU, the guard takes TAKE,
///           finds the number new and ASKER taken, checks and does all of the request or nothing, writes the
///           part with that number, lets go, and logs a line. A copy of the record (WS_PAGE_RECORD) is made
///           before the rest, for which memory may be missing. To withdraw, the program takes TAKE: the
///           request is answered by now, or will not be when it has written number 0. A program that was
///           killed has withdrawn: it no longer has ASKER.
/// Hold      With WS_PAGE_HOLD a request holds the pool: known.held is 1. When the program lets go of ASKER,
///           however it ends, the guard sets back within WS_PAGE_NS what was in force before its first such
///           request.
/// Trust     The process reads of the page only requests, and nothing that it reads is used unchecked.
/// Version   Structures of ws_stats.h have room to grow, and a later one reads as an earlier one. Any other
///           change raises WS_PAGE_VERSION, and changes nrbench/live/page.py. What the name and the lock mean
///           stays in each version.
#ifndef WS_PAGE_H
#define WS_PAGE_H

#include "../base/ws_base.h"
#include "../base/ws_histogram.h"
#include "../include/ws_stats.h"

#define WS_PAGE_MAGIC 0x67507357u // "WsPg"
#define WS_PAGE_VERSION 4u
#define WS_PAGE_POOLS 1024u ///< at a time; a further one gets a warning, and the next place that is free
#define WS_PAGE_WORKERS 128u ///< of a pool; tasks and parks of further ones count in the last place
/// Between two writes, and the longest sleep of a guard whose pool has a page.
#define WS_PAGE_NS 200000000u
/// Bytes that are locked.
#define WS_PAGE_ASKER 0
#define WS_PAGE_TAKE 1

/// What can change while the pool runs.
typedef struct {
  uint32_t spin; ///< ws_spin_t
  uint32_t spin_cpu_max; ///< percent
  uint64_t lead_ns; ///< of WS_SPIN_FIXED
  uint64_t deadline_ns; ///< of a burst; 0 = none, WS_DEADLINE_AUTO = learnt
  uint32_t cap; ///< workers awake at most; 0 = as many as there are CPUs for
  uint32_t record; ///< not used: WS_PAGE_RECORD says it
} ws_page_settings_t;

/// Bits of a request: which of its settings count. WS_PAGE_SPIN: spin and lead_ns.
#define WS_PAGE_SPIN 1u
#define WS_PAGE_SPIN_CPU_MAX 2u
#define WS_PAGE_CAP 4u
#define WS_PAGE_DEADLINE 8u
#define WS_PAGE_RECORD 16u ///< copy the record now: answered when that is done
#define WS_PAGE_HOLD 32u ///< set back when the asker is gone
#define WS_PAGE_ALL 63u

typedef struct {
  uint64_t session; ///< of the asker: another one for each time that it has taken WS_PAGE_ASKER
  uint32_t number; ///< 0 = there is none
  uint32_t what; ///< WS_PAGE_SPIN and so on
  uint64_t pool; ///< id
  ws_page_settings_t wanted;
  uint32_t pid; ///< of the asker, as it sees itself
  char who[60]; ///< its name and user, for people
} ws_page_request_t;

/// What the guard writes of the pool beside its statistics.
typedef struct {
  uint64_t id; ///< 0 = no pool
  uint64_t written_ns, real_ns; ///< CLOCK_MONOTONIC, which may differ in a container; CLOCK_REALTIME
  char name[64];
  uint32_t answered; ///< number of the last request that was done or refused
  uint32_t held; ///< 1 = it will be set back
  ws_page_settings_t was, is; ///< before the last request; in force
  char reason[80]; ///< why that was refused; "" = it was not
} ws_page_known_t;

/// A pool's part of the page.
typedef struct {
  uint32_t sequence; ///< odd = being written
  uint32_t room;
  ws_page_known_t known;
  uint64_t ledger[64]; ///< ws_ledger_t, which has room to grow
  uint64_t starts[WS_HISTOGRAM_BUCKETS]; ///< from a burst's first push to its first task on a worker
  uint64_t ends[WS_HISTOGRAM_BUCKETS]; ///< of late bursts, over their limits
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
  uint32_t magic, version;
  uint64_t pid; ///< in its namespace
  uint32_t pools; ///< parts from here on have no pool
  uint32_t unseen; ///< pools whose part is not written: no place is free, or there is no file for it
  char unseen_name[64]; ///< of the one that has tried last
} ws_page_head_t;

typedef struct {
  ws_page_head_t head;
  ws_page_request_t request; ///< readers'
  char room[4096 - sizeof(ws_page_head_t) - sizeof(ws_page_request_t)];
  ws_page_part_t part[WS_PAGE_POOLS];
} ws_page_t;

struct ws_pool_s;

/// @brief Give the pool, whose workers exist, its part of the page; with the first one, make the page. If
/// that fails, a warning names the reason, the pool runs without, and its guard tries again, unless there is
/// no memory for what the guard remembers. Without settings.live or workers nothing happens.
void ws_page_begin(struct ws_pool_s *pool);

/// @brief The threads of the pool have ended: its part is free. With the last one the page is removed.
/// Without a page nothing happens.
void ws_page_end(struct ws_pool_s *pool);

#endif
