// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_seam.c
/// ws_seam.h. Compiled twice: with WS_SEAM_OF_FIBERS for the functions of programs with fibers.
#include "ws_seam.h"

#include "ws_test.h"

#define WS_SEAM_WRAP(result, name, parameters, arguments)                                                    \
  result __wrap_##name parameters;                                                                           \
  TEST_BEFORE_SANITIZER result __wrap_##name parameters                                                      \
  {                                                                                                          \
    return (seam.name ? seam.name : __real_##name)arguments;                                                 \
  }

#define WS_SEAM_WRAP_VOID(name, parameters, arguments)                                                       \
  void __wrap_##name parameters;                                                                             \
  TEST_BEFORE_SANITIZER void __wrap_##name parameters                                                        \
  {                                                                                                          \
    (seam.name ? seam.name : __real_##name) arguments;                                                       \
  }

#ifdef WS_SEAM_OF_FIBERS
WS_SEAM_FIBER(WS_SEAM_WRAP, WS_SEAM_WRAP_VOID)
#else
WS_SEAM_CORE(WS_SEAM_WRAP, WS_SEAM_WRAP_VOID)

ws_seam_t seam;

static void reset(void)
{
  memset(&seam, 0, sizeof(seam));
}

__attribute__((constructor)) static void set_reset(void)
{
  test_seams_reset = reset;
}
#endif
