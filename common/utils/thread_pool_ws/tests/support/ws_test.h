// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_test.h
/// What every test of the pool needs: a main with a watchdog, pools that the watchdog can describe, gates,
/// threads; and the C library's headers that most tests use, which they do not name again.
///
/// CUnit belongs to the main thread: a task or a thread records what it saw, the test joins it and asserts
/// then.
/// C++ programs see the part that needs no header of the pool's rooms.
/// No test asserts how long something took. A deadline (TEST_DEADLINE_S) only turns "never" into a failure.
/// A test on real threads asserts what the contract promises: each task ran once, the wait returned, the
/// order where one is promised, the error code. Which worker took a task, how often one slept, woke or
/// looked, and that nothing happened for some milliseconds are choices of the scheduler: scenes, or a seam.
#ifndef WS_TEST_H
#define WS_TEST_H

#include <CUnit/Basic.h> // IWYU pragma: export
#include <errno.h> // IWYU pragma: export
#include <pthread.h> // IWYU pragma: export
#include <sched.h> // IWYU pragma: export
#include <semaphore.h> // IWYU pragma: export
#include <signal.h> // IWYU pragma: export
#include <stdbool.h> // IWYU pragma: export
#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export
#include <stdio.h> // IWYU pragma: export
#include <stdlib.h> // IWYU pragma: export
#include <string.h> // IWYU pragma: export
#include <sys/types.h> // IWYU pragma: export
#include <unistd.h> // IWYU pragma: export

#include "../../include/ws_pool.h" // IWYU pragma: export
#ifdef __cplusplus
extern "C" {
#else
#include "../../pool/ws_types.h" // IWYU pragma: export
#endif

/// Seconds after which something that must happen at all is taken to never happen. A starved machine, or an
/// emulated one, must not reach it. The watchdog ends a case after twice the time.
#define TEST_DEADLINE_S test_deadline_s()
/// @return WS_TEST_DEADLINE_S of the environment. Default: 240
int test_deadline_s(void);

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

/// A function that a sanitizer calls before it is set up: clang's begins with functions that a test wraps.
#ifdef __clang__
#define TEST_BEFORE_SANITIZER __attribute__((disable_sanitizer_instrumentation))
#else
#define TEST_BEFORE_SANITIZER
#endif

/// The head of a function that is called in the place of another (--wrap), which is __real_<name>; perhaps
/// behind TEST_BEFORE_SANITIZER:
///   TEST_WRAP(void, free, (void *memory)) { ... }
#define TEST_WRAP(result, name, parameters)                                                                  \
  result __wrap_##name parameters;                                                                           \
  result __real_##name parameters;                                                                           \
  result __wrap_##name parameters

typedef struct test_case_s {
  const char *name;
  void (*run)(void);
  int line; ///< of the file
  struct test_case_s *next;
} test_case_t;

/// The cases of one file.
typedef struct test_suite_s {
  const char *name;
  void (*seams)(void); ///< sets what these cases have in the seam (ws_seam.h); may be NULL
  test_case_t *first;
  struct test_suite_s *next;
} test_suite_t;

/// @brief The suite has this case, too, behind those of lower or the same line: a compiler may change the
/// order of constructors. Called before test_run(), as the next one.
void test_add_case(test_suite_t *suite, test_case_t *test);
/// @brief The program has this suite, too.
void test_add(test_suite_t *suite);
/// @brief Run the cases under the watchdog.
/// @param words  names of suites or cases: only these; none = all
/// @return the exit status of the program; 77 if no case is to run
int test_run(int count, char **words);

#ifndef __cplusplus
/// The suite of a file: TEST_MAIN("deque"). The main() of support/ws_test_main.c runs all files of a program.
/// With functions in the seam (ws_seam.h): TEST_MAIN_SEAMS("deque", SEAM(ws_os_map), SEAM(ws_os_read)).
static test_suite_t test_suite __attribute__((unused));
#define TEST_MAIN(name) TEST_SUITE(NULL, name)
#define TEST_MAIN_SEAMS(name, ...)                                                                           \
  static void test_seams(void)                                                                               \
  {                                                                                                          \
    __VA_ARGS__;                                                                                             \
  }                                                                                                          \
  TEST_SUITE(test_seams, name)
#define TEST_SUITE(its_seams, its_name)                                                                      \
  __attribute__((constructor)) static void test_add_suite(void)                                              \
  {                                                                                                          \
    test_suite.name = its_name;                                                                              \
    test_suite.seams = its_seams;                                                                            \
    test_add(&test_suite);                                                                                   \
  }

/// A case of the file's suite, in whose order they run: TEST_CASE(it_works) { ... }
#define TEST_CASE(function)                                                                                  \
  static void function(void);                                                                                \
  __attribute__((constructor)) static void test_add_##function(void)                                         \
  {                                                                                                          \
    static test_case_t this_case = {#function, function, __LINE__, NULL};                                    \
    test_add_case(&test_suite, &this_case);                                                                  \
  }                                                                                                          \
  static void function(void)
#endif
#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/// The case returns, with a note, if it cannot test here.
#define TEST_SKIP_IF(condition, why)                                                                         \
  do {                                                                                                       \
    if (condition) {                                                                                         \
      printf("(skipped: %s) ", (why));                                                                       \
      return;                                                                                                \
    }                                                                                                        \
  } while (0)

/// Sets what is in the seam (ws_seam.h) to the real functions; NULL = this program has no seam.
extern void (*test_seams_reset)(void);

/// @return the names of what runs
const char *test_suite_name(void);
const char *test_case_name(void);

/// @brief Settings with @p workers workers and small queues; warnings go to the test's log.
ws_settings_t test_settings(uint32_t workers);
/// @brief Create a pool that the watchdog knows. Ends the program when that fails.
ws_pool_t *test_create(const ws_settings_t *settings);
ws_pool_t *test_pool(uint32_t workers);
void test_destroy(ws_pool_t *pool);

/// Warnings since the last test_settings().
#define TEST_WARNINGS_MAX 64
typedef struct {
  uint32_t count;
  char text[TEST_WARNINGS_MAX][256];
} test_warnings_t;
extern test_warnings_t test_warnings;
/// @return how many of the warnings hold @p text
uint32_t test_warnings_with(const char *text);

#ifndef __cplusplus
/// @brief Push and count it as an error of the test when the pool does not take it. Main thread or a task.
void test_push(ws_pool_t *pool, void (*func)(void *), void *arg, ws_group_t *group);
/// @brief Push tasks of a group, and wait for it: this thread helps.
void test_burst(ws_pool_t *pool, uint32_t count, void (*func)(void *), void *arg);
/// @brief The same; this thread does not help, so workers run all.
void test_on_workers(ws_pool_t *pool, uint32_t count, void (*func)(void *), void *arg);
/// Pushes of test_push that were refused.
extern ws_au32_t test_refused;

/// A task: add 1 to a ws_au64_t.
void test_count_task(void *counter);
/// A task: nothing.
void test_empty_task(void *unused);
uint64_t test_value(const ws_au64_t *counter);
/// @brief Wait until the counter is at least @p least. @return false after the deadline
bool test_until_count(const ws_au64_t *counter, uint64_t least);
#endif

/// Tasks that stand in a gate: each reports that it has begun, then waits until it is let go.
typedef struct {
  sem_t entered, open;
} test_gate_t;
void test_gate_init(test_gate_t *gate);
void test_gate_destroy(test_gate_t *gate);
/// A task.
void test_gate_task(void *gate);
/// @return false when fewer than @p count tasks have begun within the deadline
bool test_gate_await(test_gate_t *gate, uint32_t count);
void test_gate_let(test_gate_t *gate, uint32_t count);
#ifndef __cplusplus
/// @brief So many of the pool's workers stand in the gate when this returns.
void test_hold(ws_pool_t *pool, test_gate_t *gate, uint32_t workers);
#endif
/// A gate that ends with its block.
#define TEST_GATE(name)                                                                                      \
  __attribute__((cleanup(test_gate_destroy))) test_gate_t name;                                              \
  test_gate_init(&name)
/// A task: lets one of a gate go.
void test_gate_let_one(void *gate);

/// What a wait has left of the deadline. Begins as {0}.
typedef struct {
  uint64_t waited_ns, looked_ns;
} test_patience_t;
/// @brief The caller's condition does not hold yet: may it look again? Call it at every look. Two looks that
/// are far apart count as 10 ms: the process, or the machine, was stopped, and the threads that the
/// caller waits for stood still, too.
/// @return false after the deadline
bool test_is_patient(test_patience_t *patience);
/// @brief Wait until @p holds(arg). @return false after the deadline
bool test_until(bool (*holds)(void *), void *arg);
/// @brief Wait for a semaphore. @return false after the deadline
bool test_sem_wait(sem_t *sem);
void test_sleep_ms(uint32_t milliseconds);
/// @return whether thread @p tid of this process has a CPU, or waits for one or for memory; false if it ended
bool test_thread_runs(int32_t tid);
/// @return whether each other thread of this process sleeps in a system call
bool test_others_sleep(void);
uint64_t test_now_ns(void);

/// Threads that are not workers.
#define TEST_THREADS_MAX 64
typedef struct {
  pthread_t thread[TEST_THREADS_MAX];
  uint32_t count;
} test_threads_t;
void test_spawn(test_threads_t *threads, void *(*body)(void *), void *arg);
void test_join(test_threads_t *threads);
/// @brief So many threads at once, until they have ended.
void test_in_threads(uint32_t count, void *(*body)(void *), void *arg);
#ifndef __cplusplus
/// @brief Call @p play again and again while a thread sends SIGUSR1 to the pool's workers, until their
/// handler, which is installed with @p flags and stays, has run 100 times. @return false after the deadline
bool test_interrupt(ws_pool_t *pool, int flags, void (*play)(void));
/// @brief Abort the pool in a thread. Returns when pushes are refused and queued tasks are skipped.
void test_abort(test_threads_t *threads, ws_pool_t *pool);
#endif

/// @brief Run @p body in a child process, alone with its pools. The caller must have no pool running.
/// @return its exit status; 128 + signal; -1 when it did not end within the deadline (it is killed then)
int test_in_child(int (*body)(void *), void *arg);
/// The two halves: @return 0 in the child, which must end by _exit(); else its number, for test_status_of().
pid_t test_fork(void);
int test_status_of(pid_t child);
/// What a child returns when it cannot test what it should.
#define TEST_CHILD_SKIP 77

/// Seeds of stress tests: WS_SEED.
uint64_t test_seed(void);
uint64_t test_random(uint64_t *state);
/// @return CPUs that the process may use
uint32_t test_cpus(void);
/// @return the number of the n-th of them, from 0; of the last one if it has fewer
uint32_t test_cpu(uint32_t n);
/// @brief Restrict the whole process to its first @p count CPUs; 0 = as it was at the start. @return CPUs it
/// has then
uint32_t test_use_cpus(uint32_t count);

ws_stats_t test_stats(ws_pool_t *pool);
/// Sum of one counter over all workers and the threads outside.
#define TEST_SUM(pool, field) test_sum((pool), offsetof(ws_worker_stats_t, field))
uint64_t test_sum(ws_pool_t *pool, size_t offset);
/// @brief Wait until all workers are parked, no timer of theirs is set, and no counter moves any more.
bool test_until_quiet(ws_pool_t *pool);

#ifdef __cplusplus
}
#endif
#endif
