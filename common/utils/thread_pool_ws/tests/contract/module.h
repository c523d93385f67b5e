// SPDX-License-Identifier: BSD-3-Clause
/// @file module.h
/// Between the executable and the plug-in.
#ifndef CONTRACT_MODULE_H
#define CONTRACT_MODULE_H

#include <stdint.h>
#include <string.h>

#if defined(CONTRACT_SHAPE_A)
#define MODULE_TASKS 0
#else
#define MODULE_TASKS 1
#include "task_ans.h"
#endif
#include "thread-pool.h"

#define MODULE_UNITS 40
#define MODULE_NAME "module_run"
typedef uint64_t module_run_t(tpool_t *pool);
/// @return the sum of the squares below MODULE_UNITS, which the pool's workers computed
module_run_t module_run;

#endif
