# SPDX-License-Identifier: BSD-3-Clause
# Second half of the hook: our sources go into the target that OAI already has for its pool, and OAI's go out.
#
# Into the existing target and not into one of our own: then each executable of OAI that links OAI's pool
# links ours, at the same place of its link line, and no dependency can form a cycle.

# OAI's targets that may hold the pool, and the pool's files there. v2.0.0 and v2.1.0 list them in UTIL, later
# ones have a target thread-pool, and a UTIL without them.
set(WS_POOL_TARGETS thread-pool UTIL)
set(WS_POOL_FILES "(^|/)(thread-pool|task_ans)\\.c$")
set(WS_HOOK_DIR "${CMAKE_CURRENT_LIST_DIR}")

# Sets <out> to the one target that compiles OAI's thread-pool.c; stops when there is none or more.
function(ws_find_pool_target out)
  set(found "")
  set(seen "")
  foreach(target IN ITEMS ${WS_POOL_TARGETS})
    if(TARGET ${target})
      list(APPEND seen ${target})
      get_property(sources TARGET ${target} PROPERTY SOURCES)
      list(FILTER sources INCLUDE REGEX "${WS_POOL_FILES}")
      if(sources)
        list(APPEND found ${target})
      endif()
    endif()
  endforeach()
  list(LENGTH found count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "thread_pool_ws: exactly one of the targets ${WS_POOL_TARGETS} should compile OAI's "
      "thread-pool.c, but ${count} do (\"${found}\"; of the targets exist: \"${seen}\"). This OAI builds its "
      "pool in a way that thread_pool_ws does not know. OAI builds with its own pool without "
      "-DCMAKE_PROJECT_OpenAirInterface_INCLUDE (remove it from the cache with -U).")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Compile options and the rest for our sources in <target>. When OAI's own sources remain beside ours (UTIL),
# they go on our files, which works because that target is of this directory; else on the target, which then
# holds ours only. Where it can, the version goes on the one file that prints it: else each commit of this
# project would compile all files.
function(ws_set_flags target others sources version definitions includes)
  get_property(directory TARGET ${target} PROPERTY SOURCE_DIR)
  if(others AND directory STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    set(where SOURCE ${sources})
    set_property(SOURCE "${WS_MODULE_DIR}/shim/common/ws_tpool.c" APPEND PROPERTY COMPILE_DEFINITIONS "${version}")
  else()
    set(where TARGET ${target})
    list(APPEND definitions "${version}")
  endif()
  set_property(${where} APPEND PROPERTY COMPILE_DEFINITIONS ${definitions})
  set_property(${where} APPEND PROPERTY INCLUDE_DIRECTORIES ${includes})
endfunction()

# LTTng's provider, built with each program that has the pool, into the folder of OAI's programs: a program looks
# for it beside itself.
function(ws_provider_for target cflags libs)
  ws_add_provider()
  set(folder "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(NOT folder)
    set(folder "${CMAKE_BINARY_DIR}")
  endif()
  set_target_properties(thread_pool_ws_lttng PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${folder}")
  target_compile_options(thread_pool_ws_lttng PRIVATE ${cflags})
  target_link_libraries(thread_pool_ws_lttng PRIVATE ${libs})
  add_dependencies(${target} thread_pool_ws_lttng)
endfunction()

# Runs once, at the end of OAI's top CMakeLists.txt.
function(ws_hook_finish)
  include("${WS_HOOK_DIR}/version.cmake")
  ws_version_full(version)
  get_property(shape GLOBAL PROPERTY thread_pool_ws_SHAPE)
  ws_shim_files("${shape}" ours shadows)
  ws_shim_private_includes(includes)
  ws_find_pool_target(target)
  ws_find_library(lttng-ust 2.13 liblttng-ust-dev THREAD_POOL_WS_LTTNG "no LTTng tracepoints"
    lttng_cflags lttng_libs)
  set(definitions "WS_SHIM_SHAPE=\"${shape}\"")
  set(with "")
  if(lttng_libs)
    list(APPEND definitions WS_LTTNG=1)
    ws_provider_for(${target} "${lttng_cflags}" "${lttng_libs}")
    string(APPEND with ", LTTng tracepoints")
  endif()
  # The property and not target_link_libraries(), which may only name targets of its own directory before
  # CMake 3.13's policy CMP0079. The pool opens LTTng's provider itself.
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${CMAKE_DL_LIBS})
  get_property(others TARGET ${target} PROPERTY SOURCES)
  list(FILTER others EXCLUDE REGEX "${WS_POOL_FILES}")
  set_property(TARGET ${target} PROPERTY SOURCES ${others} ${ours})
  ws_set_flags(${target} "${others}" "${ours}" "WS_VERSION=\"${version}\"" "${definitions}" "${includes}")

  ws_patches_apply(patches)
  list(LENGTH ours count)
  set(report "thread_pool_ws: version ${version} replaces OAI's thread pool: shape ${shape}, ")
  string(APPEND report "${count} sources in target ${target}${with}${patches}")
  set_property(GLOBAL PROPERTY thread_pool_ws_REPORT "${report}")
  message(STATUS "${report}")
  add_custom_target(thread_pool_ws_report COMMAND "${CMAKE_COMMAND}" -E echo "${report}" VERBATIM)
endfunction()
