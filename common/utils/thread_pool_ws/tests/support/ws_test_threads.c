// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_test_threads.c
/// ws_test.h: tasks, gates, threads, children, deadlines, random numbers.
#include <dirent.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "ws_test.h"

void test_push(ws_pool_t *pool, void (*func)(void *), void *arg, ws_group_t *group)
{
  if (ws_pool_push(pool, (ws_task_t){.func = func, .arg = arg, .group = group}) != 0)
    ws_add_relaxed(&test_refused, 1);
}

static void burst(ws_pool_t *pool, ws_pool_t *helped, uint32_t count, void (*func)(void *), void *arg)
{
  ws_group_t group;
  ws_group_init(&group, count);
  for (uint32_t i = 0; i < count; i++)
    test_push(pool, func, arg, &group);
  ws_group_wait(&group, helped);
}

void test_burst(ws_pool_t *pool, uint32_t count, void (*func)(void *), void *arg)
{
  burst(pool, pool, count, func, arg);
}

void test_on_workers(ws_pool_t *pool, uint32_t count, void (*func)(void *), void *arg)
{
  burst(pool, NULL, count, func, arg);
}

void test_count_task(void *counter)
{
  ws_add_relaxed((ws_au64_t *)counter, 1);
}

void test_empty_task(void *unused) {}

uint64_t test_value(const ws_au64_t *counter)
{
  return ws_load_acquire(counter);
}

void test_gate_init(test_gate_t *gate)
{
  sem_init(&gate->entered, 0, 0);
  sem_init(&gate->open, 0, 0);
}

void test_gate_destroy(test_gate_t *gate)
{
  sem_destroy(&gate->entered);
  sem_destroy(&gate->open);
}

void test_gate_task(void *gate_arg)
{
  test_gate_t *gate = gate_arg;
  sem_post(&gate->entered);
  while (sem_wait(&gate->open) < 0)
    ;
}

int test_deadline_s(void)
{
  const char *seconds = getenv("WS_TEST_DEADLINE_S");
  return seconds ? atoi(seconds) : 240;
}

/// A process that was stopped for so long has waited no longer than that.
#define TICK_NS_MAX 10000000u

bool test_is_patient(test_patience_t *patience)
{
  const uint64_t now_ns = test_now_ns();
  const uint64_t tick_ns = patience->looked_ns > 0 ? now_ns - patience->looked_ns : 0;
  patience->waited_ns += tick_ns < TICK_NS_MAX ? tick_ns : TICK_NS_MAX;
  patience->looked_ns = now_ns;
  return patience->waited_ns < (uint64_t)TEST_DEADLINE_S * 1000000000;
}

bool test_sem_wait(sem_t *sem)
{
  for (test_patience_t patience = {0}; test_is_patient(&patience);) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TICK_NS_MAX;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (sem_timedwait(sem, &until) == 0)
      return true;
  }
  return false;
}

bool test_gate_await(test_gate_t *gate, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    if (!test_sem_wait(&gate->entered))
      return false;
  return true;
}

void test_gate_let(test_gate_t *gate, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    sem_post(&gate->open);
}

void test_hold(ws_pool_t *pool, test_gate_t *gate, uint32_t workers)
{
  for (uint32_t i = 0; i < workers; i++)
    test_push(pool, test_gate_task, gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(gate, workers));
}

void test_gate_let_one(void *gate)
{
  test_gate_let(gate, 1);
}

uint64_t test_now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void test_sleep_ms(uint32_t milliseconds)
{
  struct timespec rest = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
    ;
}

bool test_until(bool (*holds)(void *), void *arg)
{
  test_patience_t patience = {0};
  while (!holds(arg)) {
    if (!test_is_patient(&patience))
      return false;
    test_sleep_ms(1);
  }
  return true;
}

bool test_until_count(const ws_au64_t *counter, uint64_t least)
{
  test_patience_t patience = {0};
  while (test_value(counter) < least) {
    if (!test_is_patient(&patience))
      return false;
    test_sleep_ms(1);
  }
  return true;
}

void test_spawn(test_threads_t *threads, void *(*body)(void *), void *arg)
{
  if (threads->count == TEST_THREADS_MAX
      || pthread_create(&threads->thread[threads->count], NULL, body, arg) != 0) {
    fprintf(stderr, "no thread for the test\n");
    exit(1);
  }
  threads->count++;
}

void test_join(test_threads_t *threads)
{
  for (uint32_t i = 0; i < threads->count; i++)
    pthread_join(threads->thread[i], NULL);
  threads->count = 0;
}

void test_in_threads(uint32_t count, void *(*body)(void *), void *arg)
{
  test_threads_t threads = {0};
  while (threads.count < count)
    test_spawn(&threads, body, arg);
  test_join(&threads);
}

static ws_au32_t handled; ///< signals, by workers
static ws_au32_t sends;

static void handle(int unused)
{
  ws_add_relaxed(&handled, ws_worker_index() >= 0);
}

static void *send_signals(void *pool_arg)
{
  const ws_pool_t *pool = pool_arg;
  for (uint32_t i = 0; ws_load_relaxed(&sends); i++) {
    pthread_kill(pool->worker[i % pool->workers]->thread, SIGUSR1);
    sched_yield();
  }
  return NULL;
}

bool test_interrupt(ws_pool_t *pool, int flags, void (*play)(void))
{
  const struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
  test_threads_t sender = {0};
  test_patience_t patience = {0};
  sigaction(SIGUSR1, &action, NULL); // it stays: a signal may still be on its way to a worker without a CPU
  ws_store_relaxed(&handled, 0);
  ws_store_relaxed(&sends, 1);
  test_spawn(&sender, send_signals, pool);
  do
    play();
  while (ws_load_relaxed(&handled) < 100 && test_is_patient(&patience));
  ws_store_relaxed(&sends, 0);
  test_join(&sender);
  return ws_load_relaxed(&handled) >= 100;
}

static void *abort_pool(void *pool)
{
  ws_pool_stop(pool, WS_STOP_ABORT);
  return NULL;
}

static bool is_aborted(void *pool)
{
  return ws_load_acquire(&((ws_pool_t *)pool)->state) != WS_RUNNING; // all that an abort sets is set
}

void test_abort(test_threads_t *threads, ws_pool_t *pool)
{
  test_spawn(threads, abort_pool, pool);
  CU_ASSERT_TRUE(test_until(is_aborted, pool));
}

/// The child has not ended: say where it stands, if there is gdb.
static void show_stacks(pid_t child)
{
  char command[128];
  snprintf(command, sizeof(command), "gdb -p %d -batch -ex 'thread apply all bt 20' 1>&2", (int)child);
  fprintf(stderr, "child %d has not ended after %d s\n", (int)child, TEST_DEADLINE_S);
  if (system(command) != 0)
    fprintf(stderr, "no gdb: its stacks are not known\n");
}

bool test_thread_runs(int32_t tid)
{
  char path[64], stat[256] = "";
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
  FILE *file = fopen(path, "r");
  const char *state = file && fgets(stat, sizeof(stat), file) ? strrchr(stat, ')') : NULL;
  if (file)
    fclose(file);
  return state && state[1] == ' ' && (state[2] == 'R' || state[2] == 'D');
}

bool test_others_sleep(void)
{
  bool sleep = true;
  DIR *threads = opendir("/proc/self/task");
  for (struct dirent *entry; threads && (entry = readdir(threads));) {
    const int32_t tid = atoi(entry->d_name); // 0 = not a thread's
    sleep &= tid == 0 || tid == (int32_t)syscall(SYS_gettid) || !test_thread_runs(tid);
  }
  if (threads)
    closedir(threads);
  return sleep;
}

/// gcc's address sanitizer lets a child inherit a lock of its allocator that another thread holds: the child
/// waits for it without end. A thread that sleeps holds none. Threads that never sleep are not waited for.
static void await_free_allocator(void)
{
  for (uint32_t looks = 0; TEST_SANITIZED && looks < 1000 && !test_others_sleep(); looks++)
    test_sleep_ms(1);
}

pid_t test_fork(void)
{
  fflush(NULL);
  await_free_allocator();
  const pid_t child = fork();
  if (child == 0)
    alarm(0);
  return child;
}

int test_in_child(int (*body)(void *), void *arg)
{
  const pid_t child = test_fork();
  if (child == 0) {
    const int code = body(arg);
    fflush(NULL);
    _exit(code);
  }
  return test_status_of(child);
}

int test_status_of(pid_t child)
{
  test_patience_t patience = {0};
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    if (!test_is_patient(&patience)) {
      show_stacks(child);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    test_sleep_ms(2);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

uint64_t test_seed(void)
{
  static uint64_t seed;
  const char *given = getenv("WS_SEED");
  if (seed == 0) {
    seed = given ? strtoull(given, NULL, 0) : (test_now_ns() ^ ((uint64_t)getpid() << 40)) | 1;
    printf("\nWS_SEED=%llu\n", (unsigned long long)seed);
  }
  return seed;
}

uint64_t test_random(uint64_t *state)
{
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15)); // splitmix64 (Vigna)
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

uint32_t test_cpus(void)
{
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

uint32_t test_cpu(uint32_t n)
{
  cpu_set_t set;
  uint32_t last = 0;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  for (uint32_t cpu = 0, found = 0; cpu < CPU_SETSIZE && found <= n; cpu++)
    if (CPU_ISSET(cpu, &set)) {
      last = cpu;
      found++;
    }
  return last;
}

uint32_t test_use_cpus(uint32_t count)
{
  static cpu_set_t all;
  if (CPU_COUNT(&all) == 0)
    sched_getaffinity(0, sizeof(all), &all);
  cpu_set_t some = all;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && count > 0 && (uint32_t)CPU_COUNT(&some) > count; cpu--)
    CPU_CLR(cpu, &some);
  sched_setaffinity(0, sizeof(some), &some);
  return test_cpus();
}
