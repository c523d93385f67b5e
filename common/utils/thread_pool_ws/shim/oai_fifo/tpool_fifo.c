// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_fifo.c
/// OAI's FIFO pool (shape A).
///
/// A job's task carries the tag of its response FIFO, so a pull runs only jobs that answer to that FIFO:
/// other jobs may wait for the pulling thread's next step. While the pool has an element its field next,
/// unused then, points to the pool.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/ws_tpool.h"
#include "../common/ws_tpool_lead.h"
#include "../common/ws_tpool_log.h"
#include "common/utils/threadPool/thread-pool.h"
#include "ws_pool.h"
#include "ws_trace.h"

static bool is_aborted(const ws_tpool_t *ws)
{
  return __atomic_load_n(&ws->aborted, __ATOMIC_ACQUIRE); // [edge TPOOL_ABORT acquire]
}

static void process(notifiedFIFO_elt_t *elt, bool measure)
{
  if (measure)
    elt->startProcessingTime = rdtsc_oai();
  elt->processingFunc(NotifiedFifoData(elt));
  if (measure)
    elt->endProcessingTime = rdtsc_oai();
}

static void give_back(notifiedFIFO_elt_t *elt)
{
  if (elt->reponseFifo)
    pushNotifiedFIFO(elt->reponseFifo, elt);
  else
    delNotifiedFIFO_elt(elt);
}

/// The element, and with it the FIFO, may be gone after this. When an abort has returned, no more results
/// come.
static void deliver(ws_tpool_t *ws, notifiedFIFO_elt_t *elt)
{
  __atomic_fetch_add(&ws->delivering, 1, __ATOMIC_SEQ_CST); // [edge TPOOL_ABORT acq_rel] before the look
  if (__atomic_load_n(&ws->aborted, __ATOMIC_SEQ_CST)) // [edge TPOOL_ABORT acquire]
    delNotifiedFIFO_elt(elt);
  else
    give_back(elt);
  __atomic_fetch_sub(&ws->delivering, 1, __ATOMIC_SEQ_CST); // [edge TPOOL_ABORT acq_rel] before the look
  if (__atomic_load_n(&ws->aborted, __ATOMIC_SEQ_CST)) // [edge TPOOL_ABORT acquire]
    syscall(SYS_futex, &ws->delivering, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/// Returns when no thread delivers a result any more. The caller has set aborted. The wait sleeps: a caller
/// that kept the CPU could keep the delivering thread off it.
static void await_deliveries(ws_tpool_t *ws)
{
  uint32_t seen;
  while ((seen = __atomic_load_n(&ws->delivering, __ATOMIC_SEQ_CST)) > 0) // [edge TPOOL_ABORT acquire]
    syscall(SYS_futex, &ws->delivering, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void run_element(void *element)
{
  notifiedFIFO_elt_t *elt = element;
  ws_tpool_t *ws = (ws_tpool_t *)(void *)elt->next;
  if (is_aborted(ws)) {
    delNotifiedFIFO_elt(elt);
    return;
  }
  process(elt, ws->measure);
  deliver(ws, elt);
}

static void run_inline(void *element)
{
  notifiedFIFO_elt_t *elt = element;
  const ws_tpool_t *ws = (const ws_tpool_t *)(void *)elt->next;
  process(elt, ws && ws->measure);
}

/// @return whether the pool took it
static bool queue(ws_tpool_t *ws, notifiedFIFO_elt_t *elt)
{
  bool queued = false;
  if (ws_tpool_enter(ws) && !is_aborted(ws)) {
    ws_tpool_lead_push(ws);
    elt->next = (notifiedFIFO_elt_t *)(void *)ws;
    const ws_task_t task = {
        .func = run_element,
        .arg = elt,
        .group = elt->reponseFifo ? ws_group_tag(elt->reponseFifo) : NULL,
    };
    queued = ws_pool_push(ws->pool, task) == 0;
  }
  ws_tpool_leave(ws);
  return queued;
}

void pushTpool(tpool_t *t, notifiedFIFO_elt_t *msg)
{
  ws_tpool_t *ws = t->ws;
  const bool measure = ws && ws->measure;
  if (measure)
    msg->creationTime = rdtsc_oai();
  if (ws && ws->threads && queue(ws, msg))
    return;
  msg->next = (notifiedFIFO_elt_t *)(void *)ws;
  ws_trace_run(run_inline, msg);
  give_back(msg);
}

ws_tpool_t *ws_tpool_of(void *tpool)
{
  return ((tpool_t *)tpool)->ws;
}

static bool has_result(void *fifo)
{
  const notifiedFIFO_t *nf = fifo;
  return __atomic_load_n(&nf->outF, __ATOMIC_RELAXED) // relaxed: a hint, the lock follows
         || __atomic_load_n(&nf->abortFIFO, __ATOMIC_RELAXED); // relaxed: as above
}

static void sleep_for_result(void *fifo)
{
  notifiedFIFO_t *nf = fifo;
  mutexlock(nf->lockF);
  while (!nf->outF && !nf->abortFIFO)
    condwait(nf->notifF, nf->lockF);
  mutexunlock(nf->lockF);
}

/// @return the next element, NULL = the FIFO is aborted
static notifiedFIFO_elt_t *wait_for_result(ws_tpool_t *ws, notifiedFIFO_t *nf)
{
  const ws_event_t event = {.ready = has_result, .sleep = sleep_for_result, .arg = nf};
  const bool open = ws_tpool_enter(ws);
  notifiedFIFO_elt_t *msg = NULL;
  bool aborted = false;
  while (!msg && !aborted) {
    ws_pool_await(open ? ws->pool : NULL, ws_group_tag(nf), &event);
    mutexlock(nf->lockF);
    msg = pullNotifiedFIFO_nothreadSafe(nf);
    aborted = nf->abortFIFO;
    mutexunlock(nf->lockF);
  }
  ws_tpool_leave(ws);
  return msg;
}

/// Write an element to the pipe. If the pipe has no reader and is full, measurements are lost, and the host
/// continues.
static void trace(const ws_tpool_t *ws, const notifiedFIFO_elt_t *msg)
{
  static uint32_t warned; // bool; RISC-V exchanges no bytes without libatomic
  const ssize_t written = write(ws->trace_fd, msg, sizeof(*msg));
  // relaxed: only which thread comes first
  if (written == (ssize_t)sizeof(*msg) || __atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED))
    return;
  ws_tpool_say("thread_pool_ws: OAI_THREADPOOLMEASUREMENTS: measurements are lost: %s", strerror(errno));
}

/// Stamp a result, and write it to the pipe of a pool that has one.
static void report(const ws_tpool_t *ws, notifiedFIFO_elt_t *msg)
{
  if (ws->measure)
    msg->returnTime = rdtsc_oai();
  if (ws->trace_fd >= 0)
    trace(ws, msg);
}

notifiedFIFO_elt_t *pullTpool(notifiedFIFO_t *responseFifo, tpool_t *t)
{
  ws_tpool_t *ws = t->ws;
  notifiedFIFO_elt_t *msg = ws ? wait_for_result(ws, responseFifo) : pullNotifiedFIFO(responseFifo);
  if (!msg)
    return NULL;
  AssertFatal(ws != NULL, "pullTpool: the thread pool was not initialised\n");
  report(ws, msg);
  return msg;
}

notifiedFIFO_elt_t *tryPullTpool(notifiedFIFO_t *responseFifo, tpool_t *t)
{
  AssertFatal(t->ws != NULL, "tryPullTpool: the thread pool was not initialised\n");
  notifiedFIFO_elt_t *msg = pollNotifiedFIFO(responseFifo);
  if (msg)
    report(t->ws, msg);
  return msg;
}

static void *reap(void *ws)
{
  ws_tpool_close(ws);
  return NULL;
}

/// @return threads and queued tasks; 0 when the pool is closed
static uint64_t size_of(ws_tpool_t *ws)
{
  ws_stats_t stats = {0};
  if (ws_tpool_enter(ws))
    ws_pool_stats(ws->pool, &stats, NULL, 0);
  ws_tpool_leave(ws);
  return stats.workers + stats.queued_tasks;
}

/// Of several callers at once one ends the pool; the others return 0 when no more results come.
int abortTpool(tpool_t *t)
{
  ws_tpool_t *ws = t->ws;
  if (!ws || !ws->threads)
    return 0;
  const uint64_t ended = size_of(ws);
  // [edge TPOOL_ABORT acq_rel] before the look at delivering
  const bool first = !__atomic_exchange_n(&ws->aborted, 1, __ATOMIC_SEQ_CST);
  await_deliveries(ws);
  if (!first)
    return 0;
  pthread_t reaper; // running jobs may not end: another thread waits for them
  if (pthread_create(&reaper, NULL, reap, ws) == 0)
    pthread_detach(reaper);
  return (int)ended;
}

/// @return a descriptor above 2: those below are the program's
static int open_pipe(const char *path, int flags)
{
  const int made = open(path, flags | O_NONBLOCK);
  const int kept = made >= 0 && made <= STDERR_FILENO ? fcntl(made, F_DUPFD, STDERR_FILENO + 1) : made;
  AssertFatal(kept >= 0, "thread_pool_ws: OAI_THREADPOOLMEASUREMENTS=%s: %s\n", path, strerror(errno));
  if (kept != made)
    close(made);
  return kept;
}

/// The pipe is opened for reading, too, so that it needs no other reader.
static void open_trace(ws_tpool_t *ws, const char *path)
{
  mkfifo(path, 0666); // it may be there already
  open_pipe(path, O_RDONLY);
  ws->trace_fd = open_pipe(path, O_WRONLY | O_APPEND);
}

/// @return the job's own function
static uintptr_t job_func(const ws_task_t *task)
{
  if (task->func != run_element)
    return (uintptr_t)task->func;
  return (uintptr_t)((const notifiedFIFO_elt_t *)task->arg)->processingFunc;
}

static void init(tpool_t *pool, ws_tpool_params_t threads, bool measure, const char *name)
{
  const char *pipe = getenv("OAI_THREADPOOLMEASUREMENTS");
  *pool = (tpool_t){.nbThreads = (int)threads.count};
  threads.settings.func_of = job_func;
  pool->ws = ws_tpool_open(&threads, name);
  pool->ws->measure = measure || pipe;
  if (pipe)
    open_trace(pool->ws, pipe);
}

void initNamedTpool(char *params, tpool_t *pool, bool performanceMeas, char *name)
{
  ws_tpool_params_t threads = ws_tpool_read(params);
  if (threads.says_inline)
    threads.count = 0;
  else if (threads.count == 0) {
    ws_tpool_say("thread_pool_ws: thread pool parameters \"%s\": no thread; add cores, -1, or n", params);
    exit(EXIT_FAILURE);
  }
  init(pool, threads, performanceMeas, name);
}

void initFloatingCoresTpool(int nbThreads, tpool_t *pool, bool performanceMeas, char *name)
{
  init(pool, ws_tpool_floating(nbThreads), performanceMeas, name);
}
