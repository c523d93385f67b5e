// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// The program: each case in a process of its own. `--child <name> <argument>` is for cases about how a
/// process ends.
#include "contract.h"

/// In the environment of the program that was started for one case.
#define IS_APART "WS_CONTRACT_APART"

/// Start this program again. @param words  up to one that is NULL
static int run_self(const char *const words[3], int stderr_to)
{
  const pid_t child = test_fork();
  if (child == 0) {
    if (stderr_to >= 0)
      dup2(stderr_to, STDERR_FILENO);
    setenv(IS_APART, "1", 1);
    execl("/proc/self/exe", "contract", words[0], words[1], words[2], (char *)NULL);
    _exit(127);
  }
  return test_status_of(child);
}

void contract_run_apart(void (*here)(void))
{
  if (getenv(IS_APART))
    here();
  else
    CU_ASSERT_EQUAL(run_self((const char *const[3]){test_case_name()}, -1), 0);
}

int contract_run_child(const char *name, const char *argument, char text[CONTRACT_TEXT_SIZE])
{
  FILE *file = tmpfile();
  const int status = run_self((const char *const[3]){"--child", name, argument}, file ? fileno(file) : -1);
  if (file) {
    rewind(file);
    if (text)
      text[fread(text, 1, CONTRACT_TEXT_SIZE - 1, file)] = '\0';
    fclose(file);
  }
  return status;
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
  if (argc == 4 && strcmp(argv[1], "--child") == 0)
    return run_child(argv[2], argv[3]);
  return test_run(argc - 1, argv + 1);
}
