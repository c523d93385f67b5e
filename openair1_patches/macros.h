// SPDX-License-Identifier: BSD-3-Clause
/// @file macros.h
/// For spatch only (--macro-file), never compiled. Without this line spatch 1.1 cannot parse a declaration
/// with __attribute__((aligned(N))) and leaves its whole function out, without a word.
#define aligned(x) aligned
