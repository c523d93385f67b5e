// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_seam.c
/// fiber_seam.h, by functions of ws_seam.h.
#include "fiber_seam.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "../../fiber/ws_fiber_types.h"
#include "../support/ws_seam.h"
#include "scene_words.h"

fiber_seam_t fiber_seam;

static ws_au32_t has_clock;
static ws_au64_t ahead_ns; ///< of zero_ns; without the scene's clock: of the machine's

/// Places, in the order of their names in seam_hold().
enum { BEFORE, ENTERED, MOVE, UNPARK, UNLOCKED, WOKEN, LIMIT, MOVES };
static _Thread_local uint32_t held; ///< bits

/// Resources, in the order of their names in seam_deny().
enum { THREADS, EPOLL, MEMORY, ADDRESSES, PAGES };
static ws_au32_t epoll; ///< the library's descriptor

static void stand_at(uint32_t place)
{
  if (!(held & 1u << place))
    return;
  held &= ~(1u << place);
  scene_stand();
}

static uint64_t now_ns(void)
{
  if (!ws_load_acquire(&has_clock))
    return __real_ws_os_now_ns() + ws_load_acquire(&ahead_ns);
  if (ws_worker_index() >= 0)
    ws_add_relaxed(&fiber_seam.reads, 1);
  return ws_load_acquire(&fiber_seam.zero_ns) + ws_add_acq_rel(&ahead_ns, 1);
}

/// With "clock", a sleep with a limit looks at that clock now and then: a wake that is missed is a delay.
static int sleep_until(ws_au32_t *word, uint32_t seen, uint64_t deadline_ns)
{
  if (deadline_ns == 0)
    return __real_ws_os_futex_wait_until(word, seen, 0);
  if (!ws_load_acquire(&has_clock) && now_ns() < deadline_ns)
    return __real_ws_os_futex_wait_until(word, seen, deadline_ns - ws_load_acquire(&ahead_ns));
  if (now_ns() < deadline_ns)
    __real_ws_os_futex_wait_until(word, seen, __real_ws_os_now_ns() + 1000000);
  if (now_ns() < deadline_ns)
    return 0;
  ws_add_relaxed(&fiber_seam.expired, held >> LIMIT & 1);
  return -ETIMEDOUT;
}

static bool enter(ws_waiter_t *waiter)
{
  stand_at(BEFORE);
  const bool waits = __real_ws_lot_enter(waiter);
  stand_at(ENTERED);
  return waits;
}

static void move(const void *from, const ws_aptr_t *to, uint32_t count, ws_grant_t grant)
{
  if (held & 1u << MOVE)
    held ^= 1u << MOVE | 1u << MOVES; // it stands before its first lock
  __real_ws_lot_move(from, to, count, grant);
}

static int lock(pthread_mutex_t *mutex)
{
  stand_at(MOVES);
  return __real_pthread_mutex_lock(mutex);
}

static void unpark(const void *address, uint32_t count, ws_woken_t on_woken, void *arg)
{
  stand_at(UNPARK);
  __real_ws_lot_unpark(address, count, on_woken, arg);
}

static void unlock(ws_mutex_t *mutex)
{
  __real_ws_mutex_unlock(mutex);
  stand_at(UNLOCKED);
}

static void wake(ws_au32_t *word, uint32_t count)
{
  if (ws_worker_index() >= 0)
    ws_add_relaxed(&fiber_seam.wakes, 1);
  __real_ws_os_futex_wake(word, count);
  stand_at(WOKEN);
}

static void begin_block(void)
{
  ws_add_acq_rel(&fiber_seam.blocked, 1);
  __real_ws_blocking_begin();
}

static void end_block(void)
{
  __real_ws_blocking_end();
  ws_sub_acq_rel(&fiber_seam.blocked, 1);
}

static bool has_no(uint32_t resource)
{
  return ws_load_acquire(&fiber_seam.denied) >> resource & 1;
}

static void *map(size_t bytes)
{
  return has_no(MEMORY) ? NULL : __real_ws_os_map(bytes);
}

static void *reserve(size_t bytes)
{
  return has_no(ADDRESSES) ? NULL : __real_ws_pages_reserve(bytes);
}

static bool open_pages(void *memory, size_t bytes)
{
  return !has_no(PAGES) && __real_ws_pages_open(memory, bytes);
}

static int create_thread(pthread_t *thread, size_t stack_bytes, uint64_t patience_ns, void *(*func)(void *),
                         void *arg)
{
  return has_no(THREADS) ? EAGAIN : __real_ws_os_thread_create(thread, stack_bytes, patience_ns, func, arg);
}

static int create_epoll(int flags)
{
  const bool is_denied = has_no(EPOLL);
  const int created = is_denied ? -1 : __real_epoll_create1(flags);
  errno = is_denied ? EMFILE : errno; // of a call that succeeds it stays, and the fiber's may be compared
  ws_store_release(&epoll, (uint32_t)created);
  return created;
}

void fiber_seam_begin(void)
{
  if (ws_load_acquire(&has_clock)) // it goes on from where it is
    ws_store_release(&ahead_ns, now_ns() - __real_ws_os_now_ns());
  ws_store_release(&has_clock, 0);
  ws_store_release(&fiber_seam.denied, 0);
  ws_store_relaxed(&fiber_seam.expired, 0);
  held = 0;
}

void seam_clock(scene_words_t words)
{
  ws_store_release(&fiber_seam.zero_ns, now_ns());
  ws_store_release(&ahead_ns, 0);
  ws_store_relaxed(&fiber_seam.reads, 0);
  ws_store_relaxed(&fiber_seam.wakes, 0);
  ws_store_release(&has_clock, 1);
}

void seam_elapse(scene_words_t words)
{
  ws_add_acq_rel(&ahead_ns, (uint64_t)scene_number(words[0]));
}

void seam_hold(scene_words_t words)
{
  static const char *const places[] = {"before", "entered", "move", "unpark", "unlocked", "woken", "limit"};
  for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
    held |= has(words, places[i]) ? 1u << i : 0;
}

void seam_deny(scene_words_t words)
{
  static const char *const resources[] = {"threads", "epoll", "memory", "addresses", "pages"};
  uint32_t bits = 0;
  for (uint32_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
    bits |= has(words, resources[i]) ? 1u << i : 0;
  ws_store_release(&fiber_seam.denied, bits);
  if (has(words, "reactor"))
    // as a close(), but the watchdog's next file does not get the number. A bare call: ThreadSanitizer would
    // report the misuse first
    syscall(SYS_dup3, STDERR_FILENO, (int)ws_load_acquire(&epoll), O_CLOEXEC);
}

__attribute__((constructor)) static void set_seams(void)
{
  seam.ws_os_now_ns = now_ns;
  seam.ws_os_futex_wait_until = sleep_until;
  seam.ws_lot_enter = enter;
  seam.ws_lot_move = move;
  seam.pthread_mutex_lock = lock;
  seam.ws_lot_unpark = unpark;
  seam.ws_mutex_unlock = unlock;
  seam.ws_os_futex_wake = wake;
  seam.ws_blocking_begin = begin_block;
  seam.ws_blocking_end = end_block;
  seam.ws_os_map = map;
  seam.ws_pages_reserve = reserve;
  seam.ws_pages_open = open_pages;
  seam.ws_os_thread_create = create_thread;
  seam.epoll_create1 = create_epoll;
}
