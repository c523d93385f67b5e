// SPDX-License-Identifier: BSD-3-Clause
/// @file threadpool.c
/// libuv's thread pool on ws_pool.h, for libuv's tests: takes the place of the file of this name in libuv's
/// sources. A request is a task with a key (ws_key.h), so a request that has not begun can be cancelled.
///
/// The adapter delivers a cancelled request at once, as libuv does: all threads may be busy for long. Its
/// task is skipped later. Unlike the original, slow requests (name look-ups) may occupy all threads.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "unix/internal.h"
#include "uv-common.h"

#include "ws_key.h"
#include "ws_pool.h"

enum { THREADS_DEFAULT = 4, THREADS_MAX = 1024 };

typedef struct {
  ws_keyed_t task;
  struct uv__work *work;
  void (*func)(struct uv__work *work);
} job_t;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; ///< of pool, and of each uv__work.work
static ws_pool_t *pool;
static ws_key_t key;

/// uv__work.work of a request: its function until it begins, then NULL, or this.
static void is_cancelled(struct uv__work *work)
{
  (void)work;
  abort();
}

static void name_thread(void *unused, const ws_observation_t *seen)
{
  (void)unused;
  if (seen->what == WS_OBSERVED_START)
    pthread_setname_np(pthread_self(), "libuv-worker");
}

static void forget_pool(void) // in a child of fork
{
  pool = NULL;
  pthread_mutex_init(&mutex, NULL);
  ws_key_init(&key);
}

static void lock_for_fork(void)
{
  pthread_mutex_lock(&mutex);
}

static void unlock_after_fork(void)
{
  pthread_mutex_unlock(&mutex);
}

static void initialise(void)
{
  ws_key_init(&key);
  if (pthread_atfork(lock_for_fork, unlock_after_fork, forget_pool))
    abort();
}

/// @return the pool, created by the first request
static ws_pool_t *pool_of_process(void)
{
  pthread_once(&once, initialise);
  pthread_mutex_lock(&mutex);
  if (!pool) {
    const char *text = getenv("UV_THREADPOOL_SIZE");
    const long wanted = text ? strtol(text, NULL, 10) : THREADS_DEFAULT;
    ws_settings_t settings;
    ws_settings_default(&settings);
    settings.workers = wanted < 1 ? 1 : wanted > THREADS_MAX ? THREADS_MAX : (uint32_t)wanted;
    settings.fifo = true;
    settings.observer = name_thread;
    if (ws_pool_create(&pool, &settings) < 0)
      abort();
  }
  ws_pool_t *made = pool;
  pthread_mutex_unlock(&mutex);
  return made;
}

void uv__threadpool_cleanup(void)
{
  ws_pool_destroy(pool);
  pool = NULL;
}

/// Have the loop call the request's done().
static void deliver(struct uv__work *work)
{
  uv_loop_t *loop = work->loop;
  uv_mutex_lock(&loop->wq_mutex);
  uv__queue_insert_tail(&loop->wq, &work->wq);
  uv_async_send(&loop->wq_async);
  uv_mutex_unlock(&loop->wq_mutex);
}

static void run(void *job_arg)
{
  job_t *job = job_arg;
  pthread_mutex_lock(&mutex);
  job->work->work = NULL;
  pthread_mutex_unlock(&mutex);
  job->func(job->work);
  deliver(job->work);
  free(job);
}

void uv__work_submit(uv_loop_t *loop, struct uv__work *work, enum uv__work_kind kind,
                     void (*func)(struct uv__work *), void (*done)(struct uv__work *, int))
{
  (void)kind;
  job_t *job = calloc(1, sizeof(*job));
  if (!job)
    abort();
  job->work = work;
  job->func = func;
  job->task = (ws_keyed_t){.key = &key, .func = run, .on_cancel = free, .arg = job};
  work->loop = loop;
  work->work = func;
  work->done = done;
  work->wq.next = (struct uv__queue *)job; // until it is delivered
  if (ws_pool_push_keyed(pool_of_process(), &job->task) < 0)
    abort();
}

void uv__work_done(uv_async_t *handle)
{
  uv_loop_t *loop = container_of(handle, uv_loop_t, wq_async);
  struct uv__queue ended;
  int count = 0;
  uv_mutex_lock(&loop->wq_mutex);
  uv__queue_move(&loop->wq, &ended);
  uv_mutex_unlock(&loop->wq_mutex);
  for (; !uv__queue_empty(&ended); count++) {
    struct uv__work *work = container_of(uv__queue_head(&ended), struct uv__work, wq);
    uv__queue_remove(&work->wq);
    work->done(work, work->work == is_cancelled ? UV_ECANCELED : 0);
  }
  if (count > 1) { // the loop counts one event for the call
    uv__metrics_inc_events(loop, count - 1);
    if (uv__get_internal_fields(loop)->current_timeout == 0)
      uv__metrics_inc_events_waiting(loop, count - 1);
  }
}

static void call_work(struct uv__work *work)
{
  uv_work_t *request = container_of(work, uv_work_t, work_req);
  request->work_cb(request);
}

static void call_after(struct uv__work *work, int status)
{
  uv_work_t *request = container_of(work, uv_work_t, work_req);
  uv__req_unregister(request->loop);
  if (request->after_work_cb)
    request->after_work_cb(request, status);
}

int uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb work_cb, uv_after_work_cb after_work_cb)
{
  if (!work_cb)
    return UV_EINVAL;
  uv__req_init(loop, request, UV_WORK);
  request->loop = loop;
  request->work_cb = work_cb;
  request->after_work_cb = after_work_cb;
  uv__work_submit(loop, &request->work_req, UV__WORK_CPU, call_work, call_after);
  return 0;
}

static struct uv__work *work_of(uv_req_t *request)
{
  switch (request->type) {
    case UV_FS:
      return &((uv_fs_t *)request)->work_req;
    case UV_GETADDRINFO:
      return &((uv_getaddrinfo_t *)request)->work_req;
    case UV_GETNAMEINFO:
      return &((uv_getnameinfo_t *)request)->work_req;
    case UV_RANDOM:
      return &((uv_random_t *)request)->work_req;
    case UV_WORK:
      return &((uv_work_t *)request)->work_req;
    default:
      return NULL;
  }
}

int uv_cancel(uv_req_t *request)
{
  struct uv__work *work = work_of(request);
  if (!work)
    return UV_EINVAL;
  pthread_once(&once, initialise);
  pthread_mutex_lock(&mutex);
  // While its function is there, and the lock is held, no thread frees the job.
  const bool queued = work->work && work->work != is_cancelled;
  const bool cancelled = queued && ws_pool_cancel_task(pool, &((job_t *)work->wq.next)->task) == 0;
  if (cancelled)
    work->work = is_cancelled;
  pthread_mutex_unlock(&mutex);
  if (!cancelled)
    return UV_EBUSY;
  deliver(work);
  return 0;
}
