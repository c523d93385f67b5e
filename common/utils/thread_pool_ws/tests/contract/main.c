// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// The program: each test in a child process. `--case <name>` runs one test here, `--list` names them,
/// `--child <name> <argument>` is for tests about how a process ends.
#define _GNU_SOURCE
#include <CUnit/Basic.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract.h"

#if defined(CONTRACT_SHAPE_A)
#define SHAPE "A"
#elif defined(CONTRACT_SHAPE_B1)
#define SHAPE "B1"
#elif defined(CONTRACT_SHAPE_B2PLUS)
#define SHAPE "B2+"
#else
#define SHAPE "B2"
#endif

/// Above the deadline: what a single wait gives up on is reported as a failed assertion, not as a hang.
#define CASE_SECONDS (2 * CONTRACT_DEADLINE_S)

static const struct {
  const char *name;
  const contract_case_t *cases;
} suites[] = {
    {"fifo_queue", fifo_queue_cases},
#if CONTRACT_TASKS
    {"task_pool", task_pool_cases},
    {"task_groups", task_groups_cases},
    {"task_joiners", task_joiners_cases},
    {"task_abort", task_abort_cases},
    {"newest", newest_cases},
#else
    {"fifo_pool", fifo_pool_cases},   {"fifo_wait", fifo_wait_cases}, {"fifo_measure", fifo_measure_cases},
    {"fifo_abort", fifo_abort_cases},
#endif
    {"pools", pools_cases},
    {"nested", nested_cases},
    {"unjoined", unjoined_cases},
    {"params", params_cases},
    {"settings", settings_cases},
    {"exit", exit_cases},
};
#define SUITES (sizeof(suites) / sizeof(suites[0]))

static const contract_case_t *next;

static int await(pid_t child)
{
  for (uint32_t i = 0; i < CASE_SECONDS * 200; i++) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    contract_sleep_ms(5);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return CONTRACT_HUNG;
}

static int run_self(const char *option, const char *name, const char *argument, int stderr_to)
{
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    if (stderr_to >= 0)
      dup2(stderr_to, STDERR_FILENO);
    execl("/proc/self/exe", "contract", option, name, argument, (char *)NULL);
    _exit(127);
  }
  return await(child);
}

int contract_run_child(const char *name, const char *argument, char text[CONTRACT_TEXT_SIZE])
{
  FILE *file = tmpfile();
  const int status = run_self("--child", name, argument, file ? fileno(file) : -1);
  if (file) {
    rewind(file);
    if (text)
      text[fread(text, 1, CONTRACT_TEXT_SIZE - 1, file)] = '\0';
    fclose(file);
  }
  return status;
}

static void run_in_process_of_its_own(void)
{
  const int status = run_self("--case", next->name, NULL, -1);
  if (status == CONTRACT_HUNG)
    printf("%s: does not end\n", next->name);
  else if (status != 0)
    printf("%s: exit status %d\n", next->name, status);
  next++;
  CU_ASSERT_EQUAL(status, 0);
}

static int run_all(void)
{
  CU_basic_set_mode(CU_BRM_VERBOSE);
  for (size_t i = 0; i < SUITES; i++) {
    if (CU_initialize_registry() != CUE_SUCCESS)
      return 1;
    CU_pSuite suite = CU_add_suite(suites[i].name, NULL, NULL);
    uint32_t count = 0;
    for (next = suites[i].cases; suite && next->name; next++)
      count += CU_add_test(suite, next->name, run_in_process_of_its_own) != NULL;
    next = suites[i].cases;
    CU_basic_run_tests();
    const bool good = suite && count > 0 && CU_get_number_of_tests_run() == count;
    static uint32_t failures;
    failures += CU_get_number_of_failures() + (good ? 0 : 1);
    CU_cleanup_registry();
    if (i + 1 == SUITES)
      return failures ? 1 : 0;
  }
  return 1;
}

static int run_case(const char *name)
{
  for (size_t i = 0; i < SUITES; i++) {
    for (const contract_case_t *c = suites[i].cases; c->name; c++) {
      if (strcmp(c->name, name) != 0)
        continue;
      if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
      CU_add_test(CU_add_suite(suites[i].name, NULL, NULL), name, c->run);
      CU_basic_set_mode(CU_BRM_SILENT);
      CU_basic_run_tests();
      const bool failed = CU_get_number_of_tests_run() != 1 || CU_get_number_of_failures() > 0;
      if (failed)
        CU_basic_show_failures(CU_get_failure_list());
      CU_cleanup_registry();
      return failed ? 1 : 0;
    }
  }
  fprintf(stderr, "no test %s\n", name);
  return 127;
}

static int run_child(const char *name, const char *argument)
{
  const contract_child_t *const lists[] = {exit_children, params_children, settings_children};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
    for (const contract_child_t *child = lists[i]; child->name; child++)
      if (strcmp(child->name, name) == 0)
        return child->run(argument);
  return 127;
}

static int list(void)
{
  for (size_t i = 0; i < SUITES; i++)
    for (const contract_case_t *c = suites[i].cases; c->name; c++)
      printf("%s\n", c->name);
  return 0;
}

int main(int argc, char **argv)
{
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 4 && strcmp(argv[1], "--child") == 0)
    return run_child(argv[2], argv[3]);
  if (argc == 3 && strcmp(argv[1], "--case") == 0)
    return run_case(argv[2]);
  if (argc == 2 && strcmp(argv[1], "--list") == 0)
    return list();
#ifdef CONTRACT_OURS
  printf("contract: shape " SHAPE ", our pool\n");
#else
  printf("contract: shape " SHAPE ", the host's own pool\n");
#endif
  return run_all();
}
