# SPDX-License-Identifier: BSD-3-Clause
include(CMakeFindDependencyMacro)
find_dependency(thread_pool_ws 0.1)
include("${CMAKE_CURRENT_LIST_DIR}/burstsTargets.cmake")
