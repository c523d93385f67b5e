// SPDX-License-Identifier: BSD-3-Clause
/// @file module.h
/// Modules that lie beside the program.
#ifndef BENCH_MODULE_H
#define BENCH_MODULE_H

#include "report.h"

/// @return what the module lib<prefix><name>.so exports as @p symbol; NULL after report_error()
const void *module_load(const char *prefix, const char *name, const char *symbol, report_t *report);

#endif
