# SPDX-License-Identifier: BSD-3-Clause
# Target thread_pool_ws_shared: the pool as a shared library.
# The objects of the static library, which are position-independent, and export what the public headers declare.
# The libraries above this one find it beside themselves. In the system's folders the dynamic linker finds it.
set(WS_RPATH "$ORIGIN")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(WS_RPATH "")
endif()
set(ws_exports ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
configure_file(${CMAKE_CURRENT_LIST_DIR}/install/exports.map.in ${ws_exports} @ONLY)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.c "")
add_library(thread_pool_ws_shared SHARED ${CMAKE_CURRENT_BINARY_DIR}/empty.c)
add_library(thread_pool_ws::thread_pool_ws ALIAS thread_pool_ws_shared)
set_target_properties(thread_pool_ws_shared PROPERTIES OUTPUT_NAME thread_pool_ws EXPORT_NAME thread_pool_ws
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(thread_pool_ws_shared PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${WS_INSTALL_INCLUDE}>)
# nodelete: a plugin that is unloaded may leave blocks (pool/ws_block.h), and a thread that has just freed a pool
target_link_libraries(thread_pool_ws_shared PRIVATE
  -Wl,--whole-archive $<BUILD_INTERFACE:thread_pool_ws> -Wl,--no-whole-archive -Wl,-z,nodelete)
# the tracepoints' own symbols stay inside
target_link_options(thread_pool_ws_shared PRIVATE "-Wl,--version-script=${ws_exports}")
set_target_properties(thread_pool_ws_shared PROPERTIES LINK_DEPENDS ${ws_exports})
target_link_libraries(thread_pool_ws_shared PUBLIC Threads::Threads)
