// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fork.c
/// fork(): the child makes pools of its own and ends by exit(); the pools of the parent are lost in it. Forks
/// of a plain thread, of a helper, of a child, and beside a thread that makes a pool. Linked with
/// --wrap of pthread_create, dl_iterate_phdr and dlsym.
#include <link.h>
#include <sys/wait.h>

#include "../../../os/ws_os.h"
#include "../../../pool/ws_process.h"
#include "setup_scene.h"

enum { HAS_WORKED = 42 };

/// A pool of its own, used and destroyed. @return HAS_WORKED if all tasks have run
static int use_own_pool(void *unused)
{
  ws_pool_t *own = test_pool(3);
  const bool good = runs_hundred(own);
  test_destroy(own);
  return good ? HAS_WORKED : 1;
}

static uint32_t look_ups; ///< of the dynamic linker

TEST_BEFORE_SANITIZER TEST_WRAP(void *, dlsym, (void *library, const char *name))
{
  look_ups++;
  return __real_dlsym(library, name);
}

static int make_the_first_pool(void *unused)
{
  look_ups = 0;
  const int status = use_own_pool(NULL);
  return look_ups == 0 ? status : 1;
}

/// Beside a fork of another thread the linker's lock would stay taken in the child.
TEST_CASE(a_first_pool_does_not_ask_the_linker)
{
  CU_ASSERT_EQUAL(test_in_child(make_the_first_pool, NULL), HAS_WORKED);
}

static int forks_so_far(void *unused)
{
  return (int)ws_process.forks;
}

static int take_a_block_and_fork(void *unused)
{
  const int before = forks_so_far(NULL);
  ws_block_give(ws_block_take(64));
  return test_in_child(forks_so_far, NULL) == before + 1 ? HAS_WORKED : 1;
}

/// A thread that takes its first block has a lock of the process, which a child needs.
TEST_CASE(a_first_block_comes_after_the_process_watches_forks)
{
  CU_ASSERT_EQUAL(test_in_child(take_a_block_and_fork, NULL), HAS_WORKED);
}

static void *sleep_a_little(void *unused)
{
  usleep(1000);
  return unused;
}

static int use_threads_and_exit(void *unused)
{
  test_in_threads(8, sleep_a_little, NULL);
  exit(use_own_pool(NULL));
}

/// Also where the library was built with LTTng, whose destructor cancels threads that a child does not have.
TEST_CASE(a_child_that_uses_threads_exits)
{
  CU_ASSERT_EQUAL(test_in_child(use_threads_and_exit, NULL), HAS_WORKED);
  ws_pool_t *pool = test_pool(2);
  for (uint32_t i = 0; i < 5; i++)
    CU_ASSERT_EQUAL(test_in_child(use_threads_and_exit, NULL), HAS_WORKED);
  test_destroy(pool);
}

static ws_pool_t *parents;

/// Begins a scene in which the pool of the parent runs one task, which the gate holds, and has one queued.
static void begin_parents(test_gate_t *gate, ws_group_t *group)
{
  test_gate_init(gate);
  ws_group_init(group, 2);
  parents = test_pool(1);
  test_push(parents, test_gate_task, gate, group);
  CU_ASSERT_TRUE(test_gate_await(gate, 1));
  test_push(parents, test_empty_task, NULL, group);
}

/// The gate has been opened.
static void end_parents(test_gate_t *gate, ws_group_t *group)
{
  ws_group_wait(group, parents);
  CU_ASSERT_TRUE(ws_group_done(group));
  test_destroy(parents);
  test_gate_destroy(gate);
}

/// All calls: test_fork_calls.c.
static int leave_parents(void *unused)
{
  if (ws_pool_push(parents, (ws_task_t){.func = test_empty_task}) != -ESRCH
      || ws_pool_wait(parents) != -ESRCH)
    return 1;
  ws_pool_destroy(parents);
  return use_own_pool(unused);
}

/// The child is inside no pool: the hold that its worker did not need is not missed.
static int end_hold(void *unused)
{
  ws_pool_release(parents);
  return HAS_WORKED;
}

static void hold_task(void *status)
{
  ws_pool_hold(parents);
  *(int *)status = test_in_child(end_hold, NULL);
  ws_pool_release(parents);
}

TEST_CASE(a_child_of_a_worker_ends_a_hold)
{
  int status = 0;
  parents = test_pool(1);
  test_on_workers(parents, 1, hold_task, &status);
  CU_ASSERT_EQUAL(status, HAS_WORKED);
  test_destroy(parents);
}

static pid_t forked;
static bool ran_after;

static void fork_step(ws_step_t *step)
{
  forked = test_fork();
}

static void note_step(ws_step_t *step)
{
  ran_after = true;
}

TEST_CASE(a_step_that_forks_returns_in_the_child)
{
  ws_step_t forks = {.call = fork_step}, after = {.call = note_step};
  ws_pool_t *pool = test_pool(1);
  ws_step_run(&forks);
  ws_step_run(&after);
  if (forked == 0)
    _exit(ran_after ? HAS_WORKED : 1);
  CU_ASSERT_TRUE(ran_after);
  CU_ASSERT_EQUAL(test_status_of(forked), HAS_WORKED);
  test_destroy(pool);
}

static void fork_task(void *status)
{
  *(int *)status = test_in_child(leave_parents, NULL);
}

/// The worker stands: the places and counts of the thread that helps are the parent's. Forks of tasks on
/// workers: test_fork_calls.c.
TEST_CASE(a_child_of_a_helper_has_pools)
{
  test_gate_t gate;
  ws_group_t group, held;
  int status = 0;
  begin_parents(&gate, &held);
  ws_group_init(&group, 1);
  test_push(parents, fork_task, &status, &group);
  ws_group_wait(&group, parents);
  CU_ASSERT_EQUAL(status, HAS_WORKED);
  test_gate_let(&gate, 1);
  end_parents(&gate, &held);
}

static int look_at_counts(void *unused)
{
  if (ws_hint_load(&ws_process.awake) != 0 || ws_hint_load(&ws_process.helpers) != 0)
    return 1;
  return ws_tid_of(ws_process_enroll(ws_self())) == ws_os_tid() ? HAS_WORKED : 2;
}

/// Counts of threads that are not there would keep the child's workers from spinning, and a thread under its
/// old number could lose its lane while it lives.
TEST_CASE(a_child_counts_anew)
{
  test_gate_t gate;
  ws_group_t group;
  begin_parents(&gate, &group);
  CU_ASSERT_NOT_EQUAL(ws_hint_load(&ws_process.awake), 0);
  CU_ASSERT_EQUAL(test_in_child(look_at_counts, NULL), HAS_WORKED);
  test_gate_let(&gate, 1);
  end_parents(&gate, &group);
}

static int fork_once_more(void *unused)
{
  parents = test_pool(2);
  const int result = test_in_child(leave_parents, NULL);
  test_destroy(parents);
  return result;
}

TEST_CASE(a_child_of_a_child_has_pools)
{
  ws_pool_t *pool = test_pool(2);
  CU_ASSERT_EQUAL(test_in_child(fork_once_more, NULL), HAS_WORKED);
  test_destroy(pool);
}

static bool handler_makes;
static int made_by_handler;

static void make_in_handler(void)
{
  if (handler_makes)
    made_by_handler = use_own_pool(NULL);
}

static int look_at_handler(void *unused)
{
  return made_by_handler;
}

static int fork_with_handlers(void *unused)
{
  handler_makes = true;
  return test_in_child(look_at_handler, NULL) == HAS_WORKED ? made_by_handler : 1;
}

/// Though they were registered before the first pool.
TEST_CASE(handlers_of_the_program_make_pools_at_a_fork)
{
  CU_ASSERT_EQUAL(test_in_child(fork_with_handlers, NULL), HAS_WORKED);
}

/// A call of the C library, in the thread that creates a pool, which holds a lock. Another thread forks now.
static struct {
  sem_t is_locked, is_forking;
  ws_au32_t has_forked;
  uint32_t skip; ///< calls that are left alone before this one; UINT32_MAX = the call was
  uint32_t forked_in_it;
} call = {.skip = UINT32_MAX};

static void *fork_in_the_call(void *pid)
{
  CU_ASSERT_TRUE(test_sem_wait(&call.is_locked));
  sem_post(&call.is_forking);
  *(pid_t *)pid = fork();
  if (*(pid_t *)pid == 0)
    _exit(use_own_pool(NULL));
  ws_store_relaxed(&call.has_forked, 1); // relaxed: only whether
  return NULL;
}

/// Give the other thread time to fork, which it uses if it does not wait for the end of the call.
TEST_BEFORE_SANITIZER static void let_it_fork(void)
{
  if (call.skip == UINT32_MAX || call.skip-- > 0)
    return;
  sem_post(&call.is_locked);
  CU_ASSERT_TRUE(test_sem_wait(&call.is_forking));
  test_sleep_ms(20);
  call.forked_in_it += ws_load_relaxed(&call.has_forked); // relaxed: only whether
}

TEST_BEFORE_SANITIZER TEST_WRAP(int, pthread_create,
                                (pthread_t * thread, const pthread_attr_t *attr, void *(*body)(void *),
                                 void *arg))
{
  let_it_fork();
  return __real_pthread_create(thread, attr, body, arg);
}

TEST_BEFORE_SANITIZER TEST_WRAP(int, dl_iterate_phdr,
                                (int (*look)(struct dl_phdr_info *, size_t, void *), void *arg))
{
  let_it_fork();
  return __real_dl_iterate_phdr(look, arg);
}

/// A pool of two workers makes four calls: the look at the libraries, two workers, and the guard.
TEST_CASE(forks_wait_for_calls_that_lock)
{
  TEST_SKIP_IF(TEST_SANITIZED, "a sanitizer"); // a child may inherit a lock of its allocator
  for (uint32_t skip = 0; skip < 4; skip++) {
    pid_t child = -1;
    int status = 0;
    test_threads_t forker = {0};
    sem_init(&call.is_locked, 0, 0);
    sem_init(&call.is_forking, 0, 0);
    ws_store_relaxed(&call.has_forked, 0); // relaxed: no other thread
    call.skip = UINT32_MAX;
    test_spawn(&forker, fork_in_the_call, &child);
    call.skip = skip;
    ws_pool_t *pool = test_pool(2);
    CU_ASSERT_EQUAL(call.skip, UINT32_MAX);
    test_join(&forker);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == HAS_WORKED);
    test_destroy(pool);
  }
  CU_ASSERT_EQUAL(call.forked_in_it, 0);
}

int main(void)
{
#ifdef WS_TSAN
  puts("thread sanitizer starts no thread in the child of a process that has several");
  return TEST_CHILD_SKIP;
#endif
  pthread_atfork(make_in_handler, NULL, make_in_handler);
  return test_run(0, NULL);
}

TEST_MAIN("fork")
