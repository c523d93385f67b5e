// SPDX-License-Identifier: BSD-3-Clause
/// @file module_host.c
/// The executable of the plug-in. It calls initNamedTpool() and pushTpool() only: what else the plug-in needs
/// must come along with the objects that those pull from the archive.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"

static void run_here(void *ran)
{
  __atomic_store_n((int *)ran, 1, __ATOMIC_RELEASE);
}

static void push_one(tpool_t *pool)
{
  static int ran;
#if CONTRACT_TASKS
  pushTpool(pool, (task_t){.func = run_here, .args = &ran});
#else
  static notifiedFIFO_elt_t elt = {.processingFunc = run_here, .msgData = &ran};
  pushTpool(pool, &elt);
#endif
  while (!__atomic_load_n(&ran, __ATOMIC_ACQUIRE))
    ;
}

int main(int argc, char **argv)
{
  static tpool_t pool;
  static char params[] = "-1,-1", name[] = "host";
  void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!module) {
    fprintf(stderr, "no module: %s\n", argc == 2 ? dlerror() : "name it");
    return EXIT_FAILURE;
  }
  bool (*run)(tpool_t *) = NULL;
  void *symbol = dlsym(module, "module_run");
  memcpy(&run, &symbol, sizeof(run));
  initNamedTpool(params, &pool, false, name);
  push_one(&pool);
  return run && run(&pool) ? EXIT_SUCCESS : EXIT_FAILURE;
}
