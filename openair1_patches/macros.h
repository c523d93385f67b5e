// SPDX-License-Identifier: BSD-3-Clause
/// @file macros.h
/// For spatch only (--macro-file), never compiled. Without this line spatch 1.1 cannot parse a declaration
/// with __attribute__((aligned(N))) and skips its whole function, without a message.
#define aligned(x) aligned
