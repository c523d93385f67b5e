// SPDX-License-Identifier: BSD-3-Clause
/// @file macros.h
/// headers.cpp is compiled after macros that other headers define: OAI's utils.h (min, max), X11, Qt,
/// <sys/sysmacros.h>, <complex.h>. The headers of the standard library that headers.cpp itself includes come
/// before them.
#ifndef WS_TEST_MACROS_H
#define WS_TEST_MACROS_H

#include <shared_mutex>
#include <string>
#include <sys/sysmacros.h>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define I (__extension__ 1.0iF)
#define None 0L
#define Status int
#define Bool int
#define Success 0
#define emit
#define slots
#define signals public
#define foreach(a, b) for (;;)
#define forever for (;;)

#endif
