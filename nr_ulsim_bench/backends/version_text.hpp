// SPDX-License-Identifier: BSD-3-Clause
/// @file version_text.hpp
/// The version of a pool whose header has it as three numbers.
#ifndef BENCH_VERSION_TEXT_HPP
#define BENCH_VERSION_TEXT_HPP

#define BENCH_TEXT_OF(number) #number
#define BENCH_VERSION_TEXT(major, minor, patch)                                                              \
  BENCH_TEXT_OF(major) "." BENCH_TEXT_OF(minor) "." BENCH_TEXT_OF(patch)

#endif
