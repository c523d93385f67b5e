# SPDX-License-Identifier: BSD-3-Clause
# Optional libraries, for the hook and for the standalone build. Option not set, or AUTO: used if found; ON: required;
# OFF: not used. Nothing stays in the cache.

# ws_check_switch(<variable> [AUTO])   Stops when the variable has a value that is neither CMake's yes nor no. AUTO: it
# may have that value, too. CMake itself takes most words for yes or no, depending on where they stand.
function(ws_check_switch variable)
  set(known ON OFF ${ARGN})
  string(TOUPPER "${${variable}}" value)
  if("${${variable}}" IN_LIST known OR value MATCHES "^(ON|OFF|YES|NO|TRUE|FALSE|Y|N|0|1|)$")
    return()
  endif()
  list(JOIN known ", " known)
  message(FATAL_ERROR "thread_pool_ws: ${variable} is \"${${variable}}\", which is unknown; its values: ${known}")
endfunction()

# Sets <out> to the program that OAI's or our own configuration has found, or the one in PATH.
function(ws_pkg_config out)
  set(program "${PKG_CONFIG_EXECUTABLE}")
  if(NOT program)
    set(program pkg-config)
  endif()
  set(${out} "${program}" PARENT_SCOPE)
endfunction()

# Reports that pkg-config finds no <module> in version <least> or newer, and the effect (<without>).
# Stops when the user has switched <option> on. <package>: its name in Debian.
function(ws_library_missing module least package option without)
  ws_pkg_config(pkg_config)
  execute_process(COMMAND "${pkg_config}" --modversion ${module}
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE absent)
  set(said "pkg-config finds no ${module}")
  if(NOT absent)
    set(said "pkg-config finds ${module} ${version} only")
  endif()
  string(APPEND said ", ${least} or newer is wanted")
  if(DEFINED ${option} AND NOT "${${option}}" STREQUAL "AUTO")
    message(FATAL_ERROR "thread_pool_ws: ${option} is ${${option}}, but ${said} (Debian: ${package}). "
      "AUTO takes it where it is found, OFF builds without: ${without}.")
  endif()
  message(STATUS "thread_pool_ws: ${said} (Debian: ${package}): ${without}")
endfunction()

# Sets <out_cflags> and <out_libs> to what a library needs, both empty without it. Not by pkg_check_modules, which
# would leave its results in OAI's cache.
function(ws_find_library module least package option without out_cflags out_libs)
  set(${out_cflags} "" PARENT_SCOPE)
  set(${out_libs} "" PARENT_SCOPE)
  if(DEFINED ${option} AND NOT ${option})
    message(STATUS "thread_pool_ws: ${option} is off: ${without}")
    return()
  endif()
  ws_pkg_config(pkg_config)
  execute_process(COMMAND "${pkg_config}" --atleast-version=${least} ${module}
    ERROR_QUIET OUTPUT_QUIET RESULT_VARIABLE absent)
  execute_process(COMMAND "${pkg_config}" --cflags ${module}
    OUTPUT_VARIABLE cflags OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_cflags)
  execute_process(COMMAND "${pkg_config}" --libs ${module}
    OUTPUT_VARIABLE libs OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_libs)
  if(absent OR no_cflags OR no_libs)
    ws_library_missing(${module} "${least}" ${package} ${option} "${without}")
    return()
  endif()
  separate_arguments(cflags UNIX_COMMAND "${cflags}")
  separate_arguments(libs UNIX_COMMAND "${libs}")
  set(${out_cflags} "${cflags}" PARENT_SCOPE)
  set(${out_libs} "${libs}" PARENT_SCOPE)
endfunction()

# ws_add_provider()   Target thread_pool_ws_lttng: LTTng's provider of tracepoints, for this project's build and for
# OAI's. The caller links it with lttng-ust. Its file name is that of trace/ws_probe.h.
set(WS_TRACE_DIR "${CMAKE_CURRENT_LIST_DIR}/../common/utils/thread_pool_ws/trace")
function(ws_add_provider)
  add_library(thread_pool_ws_lttng SHARED "${WS_TRACE_DIR}/ws_tp.c")
  set_target_properties(thread_pool_ws_lttng PROPERTIES SOVERSION 0 C_VISIBILITY_PRESET hidden
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON)
  target_include_directories(thread_pool_ws_lttng PRIVATE "${WS_TRACE_DIR}")
endfunction()
