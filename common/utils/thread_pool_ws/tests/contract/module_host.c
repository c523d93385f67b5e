// SPDX-License-Identifier: BSD-3-Clause
/// @file module_host.c
/// The executable of the plug-in. It calls initNamedTpool() and pushTpool() only, and uses one group: what
/// else the plug-in needs must come along with the objects that those pull from the archive.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "module.h"

static void run_here(void *ran)
{
#if MODULE_TASKS
  completed_task_ans(ran);
#else
  *(volatile int *)ran = 1;
#endif
}

static void push_one(tpool_t *pool)
{
#if MODULE_TASKS
  static task_ans_t ans;
#ifdef CONTRACT_SHAPE_B1
  pushTpool(pool, (task_t){.func = run_here, .args = &ans});
  join_task_ans(&ans, 1);
#else
  init_task_ans(&ans, 1);
  pushTpool(pool, (task_t){.func = run_here, .args = &ans});
  join_task_ans(&ans);
#endif
#else
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(int), 0, &response, run_here);
  pushTpool(pool, elt);
  delNotifiedFIFO_elt(pullNotifiedFIFO(&response));
#endif
}

int main(int argc, char **argv)
{
  static tpool_t pool;
  static char params[] = "-1,-1", name[] = "host";
  uint64_t expected = 0;
  void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!module) {
    fprintf(stderr, "no module: %s\n", argc == 2 ? dlerror() : "name it");
    return EXIT_FAILURE;
  }
  module_run_t *run = NULL;
  void *symbol = dlsym(module, MODULE_NAME);
  memcpy(&run, &symbol, sizeof(run));
  initNamedTpool(params, &pool, false, name);
  push_one(&pool);
  for (uint64_t i = 0; i < MODULE_UNITS; i++)
    expected += i * i;
  for (uint32_t round = 0; round < 200; round++) {
    if (!run || run(&pool) != expected) {
      fprintf(stderr, "round %u: another sum\n", round);
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
