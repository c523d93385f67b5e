// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_operations.c
/// Operations of scenes with fibers: fibers themselves, and what fibers, tasks and threads wait for. Whatever
/// the text says, each scene also checks that one at a time has a mutex, that errno is kept, that a barrier
/// lets no caller pass too early, and that no sleep is too short.
#include <poll.h>
#include <sys/socket.h>

#include "../../include/ws_fd.h"
#include "../../include/ws_fiber.h"
#include "../../include/ws_local.h"
#include "../../include/ws_sync.h"
#include "../support/ws_test.h"
#include "fiber_seam.h"
#include "scene_words.h"

#define NEVER WS_SYNC_NO_DEADLINE

/// In the order of their names in make().
typedef enum { NONE, MUTEX, COND, SEM, LATCH, BARRIER, DOOR, TOKEN, FD } kind_t;

/// What a name means here.
typedef struct {
  kind_t kind;
  union {
    ws_mutex_t mutex;
    ws_cond_t cond;
    ws_sem_t sem;
    ws_latch_t latch;
    ws_barrier_t barrier;
    ws_gate_t door;
    ws_cancel_t token;
    int fd;
  } is;
  uint32_t owners; ///< of a mutex. Guarded by it
  ws_au32_t given, taken; ///< units
  ws_au32_t arrived, last; ///< at a barrier; results that were 1
} object_t;

static object_t objects[SCENE_NAMES_MAX];
static ws_au32_t passing; ///< waits that have begun
static ws_fiber_stats_t at_begin;

static object_t *object(const char *name)
{
  return &objects[scene_name(name)];
}

static void begin(void)
{
  for (uint32_t i = 0; i < SCENE_NAMES_MAX; i++)
    if (objects[i].kind == FD)
      close(objects[i].is.fd);
  memset(objects, 0, sizeof(objects));
  ws_store_relaxed(&passing, 0);
  ws_fiber_stats(&at_begin);
  fiber_seam_begin();
}

static const ws_local_t context;

static void keep(void *here)
{
  if (ws_local_set(&context, here) != 0)
    scene_fail("no memory");
}

static void *here(void)
{
  return ws_fiber_self() ? ws_local_get(&context) : NULL;
}

/// push ... fiber [stack=BYTES] [token=TOKEN]
static int push(ws_pool_t *pool, const ws_task_t *task, scene_words_t words)
{
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  const bool is_tag = option(words, "tag") || option(words, "weak");
  const char *stack = option(words, "stack"), *token = option(words, "token");
  options.priority = task->priority;
  options.node = task->node;
  options.tag = is_tag ? task->group : NULL;
  options.cancel = token ? &object(token)->is.token : NULL;
  if (stack)
    options.stack_bytes = (uint32_t)scene_number(stack);
  return ws_fiber_push(pool, task->func, task->arg, is_tag ? NULL : task->group, &options);
}

// errno in functions of their own: the compiler may keep its address within one (ws_fiber.h).

__attribute__((noinline)) static int errno_of_now(void)
{
  __asm__ volatile("");
  return errno;
}

__attribute__((noinline)) static void set_errno(int value)
{
  __asm__ volatile("");
  errno = value;
}

/// Before something that a fiber may wait in. @return for end_wait()
static int begin_wait(void)
{
  const int own = (int)((uintptr_t)here() >> 4 & 0x7fffff); // no other fiber has it
  set_errno(own);
  ws_add_acq_rel(&passing, 1);
  return own;
}

/// A wait that fails, or blocks the worker, may have made a system call.
static void end_wait(int own, int result)
{
  if (own != 0 && result >= 0 && ws_load_acquire(&fiber_seam.denied) == 0 && errno_of_now() != own)
    scene_fail("errno is %d instead of %d", errno_of_now(), own);
}

static void yield(scene_words_t words)
{
  const int own = begin_wait();
  expect(words, ws_yield(), here() != NULL);
  end_wait(own, 0);
}

/// mutex | cond | sem | latch | barrier | door | token NAME [COUNT] [static]: a new one, in the memory of the
/// one before.
static void make(scene_words_t words)
{
  static const char *const names[] = {"", "mutex", "cond", "sem", "latch", "barrier", "door", "token"};
  object_t *it = object(words[0]);
  const uint32_t count = number(words + 1, 0);
  const bool is_static = has(words, "static");
  memset(it, 0, sizeof(*it));
  ws_store_relaxed(&it->given, count);
  while (strcmp(words[-1], names[it->kind]) != 0)
    it->kind++;
  if (it->kind == SEM && is_static)
    it->is.sem = (ws_sem_t)WS_SEM_INIT(count);
  else if (it->kind == SEM)
    ws_sem_init(&it->is.sem, count);
  else if (it->kind == LATCH)
    ws_latch_init(&it->is.latch, count);
  else if (it->kind == BARRIER && is_static)
    it->is.barrier = (ws_barrier_t)WS_BARRIER_INIT(count);
  else if (it->kind == BARRIER)
    ws_barrier_init(&it->is.barrier, count);
  else if (it->kind == TOKEN)
    ws_cancel_init(&it->is.token);
}

static void entered(object_t *mutex)
{
  if (mutex->owners++ != 0)
    scene_fail("the mutex has two owners");
}

static void leaves(object_t *mutex)
{
  mutex->owners--;
}

static bool took(object_t *sem, bool taken)
{
  if (taken && ws_add_acq_rel(&sem->taken, 1) >= ws_load_acquire(&sem->given))
    scene_fail("more units were taken than given");
  return taken;
}

static int pass_sem(object_t *it, bool limited, uint64_t until_ns)
{
  const int result = limited ? ws_sem_wait_until(&it->is.sem, until_ns) : ws_sem_wait(&it->is.sem);
  took(it, result == 0);
  return result;
}

/// @return the end of a wait: "within=TIME", or "at=TIME" of the scene's clock; NEVER = there is none
static uint64_t deadline_of(scene_words_t words)
{
  const char *within = option(words, "within"), *at = option(words, "at");
  if (at)
    return ws_load_acquire(&fiber_seam.zero_ns) + (uint64_t)scene_number(at);
  if (!within || strcmp(within, "never") == 0)
    return NEVER;
  const uint64_t ns = (uint64_t)scene_number(within);
  return ns > 0 ? ws_os_now_ns() + ns : 0;
}

static int pass_barrier(object_t *it, bool limited, uint64_t until_ns)
{
  const uint32_t parties = it->is.barrier.parties;
  const uint32_t before = ws_add_acq_rel(&it->arrived, 1);
  const int result =
      limited ? ws_barrier_wait_until(&it->is.barrier, until_ns) : ws_barrier_wait(&it->is.barrier);
  if (result < 0)
    ws_sub_acq_rel(&it->arrived, 1);
  else if (ws_load_acquire(&it->arrived) < (before / parties + 1) * parties)
    scene_fail("the barrier lets a caller pass too early");
  ws_add_acq_rel(&it->last, result > 0);
  return result;
}

static int pass_cond(object_t *it, object_t *mutex, bool limited, uint64_t until_ns)
{
  leaves(mutex);
  const int result = limited ? ws_cond_wait_until(&it->is.cond, &mutex->is.mutex, until_ns)
                             : ws_cond_wait(&it->is.cond, &mutex->is.mutex);
  entered(mutex);
  return result;
}

static int lock_mutex(object_t *it, bool limited, uint64_t until_ns)
{
  int result = 0;
  if (limited)
    result = ws_mutex_lock_until(&it->is.mutex, until_ns);
  else
    ws_mutex_lock(&it->is.mutex);
  if (result == 0)
    entered(it);
  return result;
}

/// pass NAME [within=TIME | at=TIME], pass COND MUTEX ...; lock MUTEX. A barrier's result 1 is counted.
static void pass(scene_words_t words)
{
  object_t *it = object(words[0]);
  const bool limited = option(words, "within") || option(words, "at");
  const uint64_t until_ns = deadline_of(words);
  const bool is_barrier = it->kind == BARRIER;
  const int own = begin_wait();
  int result = -EINVAL;
  if (it->kind == MUTEX)
    result = lock_mutex(it, limited, until_ns);
  else if (it->kind == COND)
    result = pass_cond(it, object(words[1]), limited, until_ns);
  else if (it->kind == SEM)
    result = pass_sem(it, limited, until_ns);
  else if (it->kind == LATCH)
    result = limited ? ws_latch_wait_until(&it->is.latch, until_ns) : ws_latch_wait(&it->is.latch);
  else if (it->kind == DOOR)
    result = limited ? ws_gate_wait_until(&it->is.door, until_ns) : ws_gate_wait(&it->is.door);
  else if (it->kind == BARRIER)
    result = pass_barrier(it, limited, until_ns);
  end_wait(own, result);
  expect(words, result, is_barrier && result == 1 ? 1 : 0); // another object may lie there now
}

/// rest TIME | never, rest at=TIME: sleep.
static void rest(scene_words_t words)
{
  const bool is_never = strcmp(words[0], "never") == 0, is_at = option(words, "at") != NULL;
  const uint64_t ns = is_never || is_at ? UINT64_MAX : (uint64_t)scene_number(words[0]);
  const uint64_t end_ns = is_at ? deadline_of(words) : is_never ? NEVER : ws_os_now_ns() + ns;
  const int own = begin_wait();
  // A fiber is seen as parked. A thread passes before ws_sleep_ns() looks at the clock, which may elapse.
  const int result = is_at || !here() ? ws_sleep_until(end_ns) : ws_sleep_ns(ns);
  end_wait(own, result);
  expect(words, result, 0);
  if (result == 0 && ws_os_now_ns() < end_ns)
    scene_fail("the sleep was too short");
}

static bool tries(object_t *it)
{
  switch (it->kind) {
    case MUTEX:
      if (!ws_mutex_trylock(&it->is.mutex))
        return false;
      entered(it);
      return true;
    case SEM:
      return took(it, ws_sem_trywait(&it->is.sem));
    case LATCH:
      return ws_latch_try(&it->is.latch);
    case DOOR:
      return ws_gate_is_open(&it->is.door);
    case TOKEN:
      return ws_cancel_requested(&it->is.token);
    default:
      return false;
  }
}

/// try NAME: lock a mutex, take a unit, look. Without "=" it must succeed.
static void try_once(scene_words_t words)
{
  expect(words, tries(object(words[0])), 1);
}

/// poll NAME: try until it succeeds.
static void poll_until(scene_words_t words)
{
  object_t *it = object(words[0]);
  while (!tries(it))
    if (it->kind != MUTEX && it->kind != SEM) // those yield by themselves
      ws_yield_sometimes();
}

/// unlock MUTEX, signal COND, post SEM [UNITS], down LATCH [COUNT], open DOOR, request TOKEN
static void give(scene_words_t words)
{
  object_t *it = object(words[0]);
  const uint32_t count = number(words + 1, 1);
  if (it->kind == MUTEX && it->owners > 0)
    leaves(it);
  if (it->kind == MUTEX)
    ws_mutex_unlock(&it->is.mutex);
  else if (it->kind == COND)
    ws_cond_signal(&it->is.cond);
  else if (it->kind == SEM) {
    ws_add_acq_rel(&it->given, count);
    ws_sem_post(&it->is.sem, count);
  } else if (it->kind == LATCH)
    ws_latch_count_down(&it->is.latch, count);
  else if (it->kind == DOOR)
    ws_gate_open(&it->is.door);
  else if (it->kind == TOKEN)
    ws_cancel_request(&it->is.token);
}

static void broadcast(scene_words_t words)
{
  ws_cond_broadcast(&object(words[0])->is.cond);
}

static void shut(scene_words_t words)
{
  ws_gate_close(&object(words[0])->is.door);
}

/// use TOKEN | none: it ends the waits of the calling fiber or thread from now on.
static void use(scene_words_t words)
{
  ws_cancel_t *token = strcmp(words[0], "none") == 0 ? NULL : &object(words[0])->is.token;
  ws_cancel_use(token);
  if (ws_cancel_used() != token)
    scene_fail("another token is used");
}

/// pair NAME NAME: a pair of sockets. Those from before are closed.
static void pair(scene_words_t words)
{
  int ends[2];
  for (uint32_t i = 0; i < 2; i++)
    if (object(words[i])->kind == FD)
      close(object(words[i])->is.fd);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
    scene_fail("no sockets");
  for (uint32_t i = 0; i < 2; i++) {
    object(words[i])->kind = FD;
    object(words[i])->is.fd = ends[i];
  }
}

/// ready FD in | out | both [within=TIME]: wait until one is.
static void ready(scene_words_t words)
{
  const uint32_t events = has(words, "in") ? POLLIN : has(words, "out") ? POLLOUT : POLLIN | POLLOUT;
  const uint64_t until_ns = deadline_of(words);
  const int own = begin_wait();
  const int result = ws_fd_wait_until(object(words[0])->is.fd, events, until_ns);
  end_wait(own, result);
  expect(words, result, events);
}

/// read FD, write FD: a byte.
static void move_byte(scene_words_t words)
{
  char byte = 'x';
  const int fd = object(words[0])->is.fd;
  expect(words, *words[-1] == 'r' ? ws_fd_read(fd, &byte, 1, NEVER) : ws_fd_write(fd, &byte, 1, NEVER), 1);
}

/// fill FD, drain FD: as many bytes as it takes, or has.
static void move_all(scene_words_t words)
{
  char bytes[1024] = {0};
  const int fd = object(words[0])->is.fd;
  while ((*words[-1] == 'f' ? write(fd, bytes, sizeof(bytes)) : read(fd, bytes, sizeof(bytes))) > 0)
    ;
}

static void hang_up(scene_words_t words)
{
  shutdown(object(words[0])->is.fd, SHUT_RDWR);
}

static bool value(scene_words_t words, scene_words_t *after, int64_t *found)
{
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  const struct {
    const char *name;
    uint64_t value;
  } known[] = {{"parked", stats.parked},
               {"begun", stats.begun - at_begin.begun},
               {"ended", stats.ended - at_begin.ended},
               {"dropped", stats.dropped - at_begin.dropped},
               {"stacks", stats.stacks},
               {"sharedstacks", stats.stacks_free},
               {"passing", ws_load_acquire(&passing)},
               {"expired", ws_load_acquire(&fiber_seam.expired)},
               {"reads", ws_load_acquire(&fiber_seam.reads)},
               {"wakes", ws_load_acquire(&fiber_seam.wakes)},
               {"blocked", ws_load_acquire(&fiber_seam.blocked)},
               {"fiber", ws_fiber_self() != NULL}};
  for (uint32_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    *found = (int64_t)known[i].value;
    if (strcmp(words[0], known[i].name) == 0)
      return true;
  }
  if (strcmp(words[0], "last") == 0) {
    *after = words + 2;
    *found = ws_load_acquire(&object(words[1])->last);
    return true;
  }
  *found = test_others_sleep();
  return strcmp(words[0], "quiet") == 0;
}

static const scene_operation_t operations[] = {
    {"yield", yield, 0, NULL},        {"mutex", make, 0, NULL},
    {"cond", make, 0, NULL},          {"sem", make, 0, NULL},
    {"latch", make, 0, NULL},         {"barrier", make, 0, NULL},
    {"door", make, 0, NULL},          {"token", make, 0, NULL},
    {"pass", pass, 0, NULL},          {"lock", pass, 0, NULL},
    {"rest", rest, 0, NULL},          {"try", try_once, 0, NULL},
    {"poll", poll_until, 0, NULL},    {"unlock", give, 0, NULL},
    {"signal", give, 0, NULL},        {"post", give, 0, NULL},
    {"down", give, 0, NULL},          {"open", give, 0, NULL},
    {"request", give, 0, NULL},       {"broadcast", broadcast, 0, NULL},
    {"shut", shut, 0, NULL},          {"use", use, 0, NULL},
    {"pair", pair, 0, NULL},          {"ready", ready, 0, NULL},
    {"read", move_byte, 0, NULL},     {"write", move_byte, 0, NULL},
    {"fill", move_all, 0, NULL},      {"drain", move_all, 0, NULL},
    {"hangup", hang_up, 0, NULL},     {"clock", seam_clock, 0, NULL},
    {"elapse", seam_elapse, 0, NULL}, {"hold", seam_hold, 0, NULL},
    {"deny", seam_deny, 0, NULL},     {NULL, NULL, 0, NULL}};

__attribute__((constructor)) static void add(void)
{
  static const scene_more_t more = {operations, begin, push, keep, here, value};
  scene_more = &more;
}
