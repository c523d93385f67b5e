// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_main.cpp
/// The main of a program of several files: runs the cases of all.
#include "cxx_scene.hpp"

/// For the thread sanitizer. libstdc++ is built without it, and counts the users of an exception: if the last
/// of them is not the thread that read the exception, the sanitizer reports a race.
extern "C" const char *__tsan_default_suppressions();
const char *__tsan_default_suppressions()
{
  return "race:std::__exception_ptr::exception_ptr::_M_release";
}

int main()
{
  static test_suite_t suite = {"cxx", nullptr, nullptr, nullptr};
  for (test_case_t &one : cases_of_program())
    test_add_case(&suite, &one);
  test_add(&suite);
  return test_run(0, nullptr);
}
