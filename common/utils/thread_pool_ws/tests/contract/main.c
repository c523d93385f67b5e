// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// The program: each test in a child process. `--case <name>` runs one test here,
/// `--child <name> <argument>` is for tests about how a process ends.

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
#ifdef CONTRACT_OURS
#define POOL "our pool"
#else
#define POOL "the host's own pool"
#endif

static const contract_case_t *const suites[] = {
    fifo_queue_cases, pools_cases,      nested_cases, order_cases,
#if CONTRACT_TASKS
    task_cases,       task_abort_cases,
#else
    fifo_pool_cases,  fifo_abort_cases, fifo_measure_cases,
#endif
    params_cases,     settings_cases,   exit_cases,
};

static int run_self(const char *option, const char *name, const char *argument, int stderr_to)
{
  const pid_t child = test_fork();
  if (child == 0) {
    if (stderr_to >= 0)
      dup2(stderr_to, STDERR_FILENO);
    execl("/proc/self/exe", "contract", option, name, argument, (char *)NULL);
    _exit(127);
  }
  return test_status_of(child);
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

static int run_in_child(const contract_case_t *c)
{
  const int status = run_self("--case", c->name, NULL, -1);
  printf("%s: ", c->name);
  printf(status == 0  ? "passed\n"
         : status < 0 ? "FAILED: does not end\n"
                      : "FAILED: exit status %d\n",
         status);
  return status != 0;
}

static int run_here(const contract_case_t *c)
{
  if (CU_initialize_registry() != CUE_SUCCESS)
    return 1;
  CU_add_test(CU_add_suite("contract", NULL, NULL), c->name, c->run);
  CU_run_all_tests();
  const bool failed = CU_get_number_of_tests_run() != 1 || CU_get_number_of_failures() > 0;
  if (failed)
    CU_basic_show_failures(CU_get_failure_list());
  CU_cleanup_registry();
  return failed;
}

/// @param name  of the case; NULL = each case
/// @return how often @p run did not return 0, or was not called
static int for_cases(const char *name, int (*run)(const contract_case_t *))
{
  int failures = 0;
  uint32_t count = 0;
  for (size_t i = 0; i < TEST_COUNT(suites); i++)
    for (const contract_case_t *c = suites[i]; c->name; c++)
      if (!name || strcmp(c->name, name) == 0) {
        failures += run(c);
        count++;
      }
  return failures + (count == 0);
}

static int run_child(const char *name, const char *argument)
{
  const contract_child_t *const lists[] = {exit_children, settings_children};
  for (size_t i = 0; i < TEST_COUNT(lists); i++)
    for (const contract_child_t *child = lists[i]; child->name; child++)
      if (strcmp(child->name, name) == 0)
        return child->run(argument);
  return 127;
}

int main(int argc, char **argv)
{
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 4 && strcmp(argv[1], "--child") == 0)
    return run_child(argv[2], argv[3]);
  if (argc == 3 && strcmp(argv[1], "--case") == 0)
    return for_cases(argv[2], run_here);
  printf("contract: shape " SHAPE ", " POOL "\n");
  return for_cases(NULL, run_in_child) > 0;
}
