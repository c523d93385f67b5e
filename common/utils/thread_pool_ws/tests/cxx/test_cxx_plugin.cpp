// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_plugin.cpp
/// Tasks that a library pushes which was loaded with dlopen: they run, are refused, and an abort of the
/// program's pool settles them. The library and the program have compiled the C++ headers each for itself.
#include <dlfcn.h>

#include "cxx_ways.hpp"

CASE(tasks_of_a_plugin)
{
  void *library = dlopen(WS_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  const void *symbol = library ? dlsym(library, "plugin_give") : nullptr;
  if (!symbol)
    std::printf("\n    %s\n", dlerror());
  CU_ASSERT_PTR_NOT_NULL_FATAL(symbol);
  const give_t loaded = *static_cast<const give_t *>(symbol);
  CU_ASSERT_TRUE(loaded != give);
  held_pool scene(1);
  ws::pool pool(settings_of(1));
  CU_ASSERT_TRUE(all_end_with(0, pool, give)); // so that the program has the functions, too
  CU_ASSERT_TRUE(all_end_with(0, pool, loaded));
  CU_ASSERT_TRUE(all_end_with(SKIPPED, scene.pool, loaded, {}, [&] { scene.abort(); }));
  CU_ASSERT_TRUE(all_end_with(ECANCELED, scene.pool, loaded));
}
