// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_main.cpp
/// The main of a program of several files: runs the cases of all.
#include "cxx_scene.hpp"

int main()
{
  static test_suite_t suite = {"cxx", nullptr, nullptr, nullptr};
  for (test_case_t &one : cases_of_program())
    test_add_case(&suite, &one);
  test_add(&suite);
  return test_run(0, nullptr);
}
