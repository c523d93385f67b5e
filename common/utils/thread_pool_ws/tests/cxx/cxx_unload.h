// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_unload.h
/// Between test_cxx_unload.c and the library that it loads and unloads.
#ifndef CXX_UNLOAD_H
#define CXX_UNLOAD_H

/// The function unload_work of the library. Makes the library's pool at the first call.
/// @param ended  called by each worker that has ended
/// @return the number of tasks and results, UNLOAD_SUM
typedef int (*unload_work_t)(void (*ended)(void));

/// The function unload_end of the library, to be called before it is unloaded.
typedef void (*unload_end_t)(void);

enum { UNLOAD_WORKERS = 2, UNLOAD_SUM = 37 };

#endif
