// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_main.cpp
/// The main of a program of several files: runs the cases of all.
#include "cxx_scene.hpp"

int main()
{
  return test_main("cxx", cases_of_program().data(), cases_of_program().size());
}
