# SPDX-License-Identifier: BSD-3-Clause
# The hook: OpenAirInterface's own build with this pool in place of its own, and no line of OAI's tree edited.
#
#   cmake -S <OAI> -B <build> -DCMAKE_PROJECT_OpenAirInterface_INCLUDE=<this file>
#   cmake -UCMAKE_PROJECT_OpenAirInterface_INCLUDE -U'THREAD_POOL_WS_*' <build>        switches back
#
# CMake reads this file at the end of OAI's project(OpenAirInterface). Then, in order:
#   1. ws_hook_check     stops when the file was included in a way that cannot work
#   2. ws_api_shape      finds out from OAI's headers which pool API the tree has (thread_pool_ws_shape.cmake)
#   3. shadow headers    go before all include directories of the tree, so that each caller sees ours
#   4. ws_hook_finish    at the end of OAI's top CMakeLists.txt: our sources into OAI's own target, its
#                        pool's out of it (thread_pool_ws_patch.cmake)
# The hook puts no variable into the cache. Variables that the user sets with -D stay there until -U:
#   THREAD_POOL_WS_LTTNG=OFF   without tracepoints (default: with them when pkg-config finds lttng-ust 2.13; ON: stop
#                              without it)
#   THREAD_POOL_WS_PATCHES=ON  trace marks and hints in OAI's uplink (thread_pool_ws_patches.cmake; default: OFF)
if(CMAKE_VERSION VERSION_LESS 3.16)
  message(FATAL_ERROR "thread_pool_ws: needs CMake 3.16 or newer, this is ${CMAKE_VERSION}")
endif()
# OAI calls project(OpenAirInterface) twice; the first call does it.
get_property(ws_hook_done GLOBAL PROPERTY thread_pool_ws_SHAPE)
if(ws_hook_done)
  unset(ws_hook_done)
  return()
endif()
unset(ws_hook_done)
cmake_policy(PUSH)
cmake_policy(VERSION 3.16)
include("${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_shape.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_libraries.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_patch.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_patches.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/../common/utils/thread_pool_ws/shim/sources.cmake")

# Stops unless the file was included by the project() of OAI's top CMakeLists.txt, before OAI has a target.
function(ws_hook_check)
  set(how "Configure OAI with -DCMAKE_PROJECT_OpenAirInterface_INCLUDE=${CMAKE_CURRENT_LIST_FILE} instead.")
  if(CMAKE_SCRIPT_MODE_FILE OR NOT PROJECT_NAME STREQUAL "OpenAirInterface")
    message(FATAL_ERROR "thread_pool_ws: this file hooks into project(OpenAirInterface) only, and was "
      "included where the project is \"${PROJECT_NAME}\" (source directory "
      "${CMAKE_CURRENT_SOURCE_DIR}). ${how}")
  endif()
  if(NOT CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
    message(FATAL_ERROR "thread_pool_ws: OAI is a subdirectory (${CMAKE_CURRENT_SOURCE_DIR}) of another "
      "project (${CMAKE_SOURCE_DIR}); its own build does not support that either. Configure OAI's "
      "directory itself.")
  endif()
  foreach(target IN ITEMS ${WS_POOL_TARGETS})
    if(TARGET ${target})
      message(FATAL_ERROR "thread_pool_ws: included too late: OAI's target ${target} exists already, and so "
        "do sources that would be compiled against the other pool's headers. ${how}")
    endif()
  endforeach()
endfunction()

# Calls ws_hook_finish when the top CMakeLists.txt has been read to its end, when all targets exist. Before
# CMake 3.19 there is no DEFER: CMAKE_CURRENT_LIST_DIR becomes empty just then. (Overriding add_library(), the
# other way, would not notice that no target was patched.)
function(ws_hook_at_end)
  if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.19)
    cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL ws_hook_finish)
  else()
    variable_watch(CMAKE_CURRENT_LIST_DIR ws_hook_list_dir)
  endif()
endfunction()

function(ws_hook_list_dir variable access value)
  if(access STREQUAL "MODIFIED_ACCESS" AND value STREQUAL "")
    ws_hook_finish()
  endif()
endfunction()

ws_hook_check()
ws_check_switch(THREAD_POOL_WS_LTTNG AUTO)
ws_api_shape("${CMAKE_SOURCE_DIR}/common/utils/threadPool" ws_hook_shape)
message(STATUS "thread_pool_ws: OAI's pool API has shape ${ws_hook_shape}")
set_property(GLOBAL PROPERTY thread_pool_ws_SHAPE "${ws_hook_shape}")
ws_shim_files("${ws_hook_shape}" ws_hook_sources ws_hook_shadows)
ws_warn_of_unknown_functions("${CMAKE_SOURCE_DIR}/common/utils/threadPool" "${ws_hook_shadows}")
if(NOT ws_hook_shape STREQUAL "A")
  ws_api_extras("${CMAKE_SOURCE_DIR}/common/utils/threadPool" ws_hook_extras)
  add_compile_definitions(${ws_hook_extras}) # our headers look at them, in every file of the tree
endif()
include_directories(BEFORE ${ws_hook_shadows})
ws_hook_at_end()
unset(ws_hook_shape)
unset(ws_hook_sources)
unset(ws_hook_extras)
unset(ws_hook_shadows)
cmake_policy(POP)
