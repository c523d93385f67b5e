// SPDX-License-Identifier: BSD-3-Clause
#include "module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const void *module_load(const char *prefix, const char *name, const char *symbol, report_t *report)
{
  char folder[PATH_MAX], path[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  folder[length > 0 ? length : 0] = '\0';
  char *const end = strrchr(folder, '/');
  if (end)
    *end = '\0';
  snprintf(path, sizeof path, "%s/lib%s%s.so", folder, prefix, name);
  void *const module = strchr(name, '/') ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const void *const found = module ? dlsym(module, symbol) : NULL;
  if (!found)
    report_error(report, "backend '%s': %s", name, strchr(name, '/') ? "not a name" : dlerror());
  return found;
}
