// SPDX-License-Identifier: BSD-3-Clause
/// @file main.cpp
/// Runs the tests of Boost.Fiber in a fiber: their main thread is one.
#include <cstdlib>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <boost/fiber/all.hpp>

boost::unit_test::test_suite *init_unit_test_suite(int argc, char *argv[]);

static bool add_tests()
{
  boost::unit_test::framework::master_test_suite().add(init_unit_test_suite(0, nullptr));
  return true;
}

int main(int argc, char *argv[])
{
  setenv("BOOST_TEST_CATCH_SYSTEM_ERRORS", "no", 1); // its handlers of signals are for threads' stacks
  int status = EXIT_FAILURE;
  std::thread([&] {
    const auto run = [&] { status = boost::unit_test::unit_test_main(add_tests, argc, argv); };
    boost::fibers::fiber(boost::fibers::launch::post, run).join();
  }).join(); // the end of the thread ends its pool
  return status;
}
