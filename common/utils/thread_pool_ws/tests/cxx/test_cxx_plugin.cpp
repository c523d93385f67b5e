// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cxx_plugin.cpp
/// Tasks that a library pushes which was loaded with dlopen: they run, and an abort of the program's pool
/// settles them. The library and the program have compiled the C++ headers each for itself.
#include <dlfcn.h>

#include "cxx_plugin.hpp"
#include "cxx_scene.hpp"

namespace {

const plugin &loaded()
{
  static const void *const found = [] {
    void *library = dlopen(WS_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    const void *symbol = library ? dlsym(library, PLUGIN_NAME) : nullptr;
    if (!symbol) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return symbol;
  }();
  return *static_cast<const plugin *>(found);
}

void tasks_of_a_plugin_run()
{
  auto owned = std::make_shared<int>(7);
  ws::pool pool(settings_of(1));
  std::promise<int> promise;
  ws::group group;
  CU_ASSERT_EQUAL(loaded().submit(pool, owned).get(), 7);
  loaded().submit_to(pool, owned, &promise);
  CU_ASSERT_EQUAL(promise.get_future().get(), 7);
  loaded().run(pool, group, owned);
  CU_ASSERT_TRUE(group.wait());
  loaded().push(pool, owned);
#if WS_TEST_FIBERS
  pool.push([](ws::context &) {}); // so that the program has the functions of fibers
  CU_ASSERT_TRUE(loaded().submit_fiber(pool, owned).get() > 7);
#endif
  pool.wait();
  CU_ASSERT_EQUAL(*owned, 9);
}

/// @return whether the future holds ws::cancelled; false = the future is not ready, too
bool is_cancelled(std::future<int> due)
{
  return due.wait_for(std::chrono::seconds(0)) == std::future_status::ready
         && throws<ws::cancelled>([&] { due.get(); });
}

void an_abort_settles_tasks_of_a_plugin()
{
  auto owned = std::make_shared<int>(1);
  held_pool scene(1);
  std::promise<int> promise;
  ws::group group;
  ws::future<int> future = loaded().submit(scene.pool, owned), fiber;
  loaded().submit_to(scene.pool, owned, &promise);
  loaded().push(scene.pool, owned);
  loaded().run(scene.pool, group, owned);
  if (loaded().submit_fiber)
    fiber = loaded().submit_fiber(scene.pool, owned);
  std::thread opener([&scene] {
    await_stop(scene.pool);
    scene.let();
  });
  CU_ASSERT_TRUE(scene.pool.stop(WS_STOP_ABORT) >= 4);
  opener.join();
  CU_ASSERT_TRUE(is_cancelled(std::move(future)));
  CU_ASSERT_TRUE(is_cancelled(promise.get_future()));
  CU_ASSERT_TRUE(!loaded().submit_fiber || is_cancelled(std::move(fiber)));
  CU_ASSERT_TRUE(throws<ws::cancelled>([&] { group.wait(); }));
  CU_ASSERT_EQUAL(*owned, 1);
  CU_ASSERT_EQUAL(owned.use_count(), 1); // the callables have been destroyed
}

} // namespace

TEST_MAIN("cxx_plugin", TEST_CASE(tasks_of_a_plugin_run), TEST_CASE(an_abort_settles_tasks_of_a_plugin))
