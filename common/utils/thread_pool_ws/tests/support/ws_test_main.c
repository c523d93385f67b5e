// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_test_main.c
/// The main() of the programs whose files say TEST_MAIN: test_core [<suite or case>]...
#include "ws_test.h"

int main(int count, char **words)
{
  return test_run(count - 1, words + 1);
}
