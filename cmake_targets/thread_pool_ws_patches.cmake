# SPDX-License-Identifier: BSD-3-Clause
# Third part of the hook, only with THREAD_POOL_WS_PATCHES: OAI's targets compile patched copies of some of OAI's
# files instead of the files. The copies lie in the build folder; OAI's tree stays as it is.
#
#   -DTHREAD_POOL_WS_PATCHES=ON                  all sets of openair1_patches
#   -DTHREAD_POOL_WS_PATCHES=trace               one of them; several: "trace;prewake"
#   -DTHREAD_POOL_WS_SPATCH=<program>            a spatch that is not in PATH
#   -DWS_PATCHES_SECONDS=<n>                     time limit for one rule on one file (default: 120)
#
# Patched functions, and the counts that are checked: openair1_patches/README.md. No variable is put into the cache.
include("${CMAKE_CURRENT_LIST_DIR}/../openair1_patches/apply.cmake")

# Sets <out> to the sets that the user wants, empty when none.
function(ws_patches_wanted out)
  set(sets "")
  if(THREAD_POOL_WS_PATCHES MATCHES "^(ON|on|On|YES|yes|TRUE|true|1|Y|y)$")
    set(sets ${WS_PATCHES_SETS})
  elseif(THREAD_POOL_WS_PATCHES)
    set(sets ${THREAD_POOL_WS_PATCHES})
  endif()
  foreach(set IN LISTS sets)
    if(NOT set IN_LIST WS_PATCHES_SETS)
      message(FATAL_ERROR "thread_pool_ws: THREAD_POOL_WS_PATCHES is \"${THREAD_POOL_WS_PATCHES}\"; it may be ON, "
        "OFF, or a list of: ${WS_PATCHES_SETS}")
    endif()
  endforeach()
  set(${out} "${sets}" PARENT_SCOPE)
endfunction()

# Appends to the list <out> all targets of a directory and of those below it, as "<target>".
function(ws_patches_targets directory out)
  set(all ${${out}})
  get_property(here DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  list(APPEND all ${here})
  get_property(below DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(sub IN LISTS below)
    ws_patches_targets("${sub}" all)
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# Replaces a source of a target, if the target has it. Appends the target to the list <out> then.
function(ws_patches_replace target original copy out)
  get_property(type TARGET ${target} PROPERTY TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY") # has none to compile, and before CMake 3.19 not even the property
    return()
  endif()
  get_property(directory TARGET ${target} PROPERTY SOURCE_DIR)
  get_property(sources TARGET ${target} PROPERTY SOURCES)
  set(new "")
  set(found OFF)
  foreach(source IN LISTS sources)
    get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${directory}")
    if(path STREQUAL original)
      set(source "${copy}")
      set(found ON)
    endif()
    list(APPEND new "${source}")
  endforeach()
  if(NOT found)
    return()
  endif()
  if(NOT directory STREQUAL CMAKE_SOURCE_DIR)
    message(FATAL_ERROR "thread_pool_ws: ${original} is compiled by target ${target} of ${directory}; the patches "
      "know only targets of OAI's top CMakeLists.txt. Configure without THREAD_POOL_WS_PATCHES.")
  endif()
  set_property(TARGET ${target} PROPERTY SOURCES ${new})
  set(${out} ${${out}} ${target} PARENT_SCOPE)
endfunction()

# How a patched copy is compiled: as the original, which finds headers beside it, and with our macros.
function(ws_patches_flags original copy)
  foreach(property IN ITEMS COMPILE_FLAGS COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES)
    get_property(value SOURCE "${original}" PROPERTY ${property})
    if(value)
      set_property(SOURCE "${copy}" PROPERTY ${property} "${value}")
    endif()
  endforeach()
  get_filename_component(beside "${original}" DIRECTORY)
  set_property(SOURCE "${copy}" APPEND PROPERTY COMPILE_OPTIONS
    -include "${WS_PATCHES_DIR}/ws_oai_hooks.h" -iquote "${beside}")
endfunction()

# Puts one patched file into the place of the original.
function(ws_patches_install file made copies targets)
  set(original "${CMAKE_SOURCE_DIR}/${file}")
  set(copy "${copies}/${file}")
  # Not written when it is the same: then nothing is compiled again.
  get_filename_component(folder "${copy}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${made}/${file}" "${copy}"
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "thread_pool_ws: ${copy} could not be written: check permissions and free space")
  endif()
  set(users "")
  foreach(target IN LISTS targets)
    ws_patches_replace(${target} "${original}" "${copy}" users)
  endforeach()
  if(NOT users)
    message(FATAL_ERROR "thread_pool_ws: no target compiles ${original}, which is to be patched. Configure "
      "without THREAD_POOL_WS_PATCHES.")
  endif()
  ws_patches_flags("${original}" "${copy}")
  # The copy, too: it is made anew if it was deleted.
  set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${original}" "${copy}")
  list(JOIN users ", " users)
  message(STATUS "thread_pool_ws: ${file} is patched for ${users}")
endfunction()

# Deletes the copies of an earlier configuration that this one does not use; <files>: those that it does use.
# Only these two folders: an in-source build may have a checkout of this project beside them.
function(ws_patches_clean files)
  set(top "${CMAKE_BINARY_DIR}/thread_pool_ws")
  file(REMOVE_RECURSE "${top}/work")
  if(NOT files)
    file(REMOVE_RECURSE "${top}/patched")
    file(GLOB rest "${top}/*")
    if(NOT rest)
      file(REMOVE_RECURSE "${top}")
    endif()
    return()
  endif()
  file(GLOB_RECURSE copies RELATIVE "${top}/patched" "${top}/patched/*")
  foreach(copy IN LISTS copies)
    if(NOT copy IN_LIST files)
      file(REMOVE "${top}/patched/${copy}")
    endif()
  endforeach()
endfunction()

# Runs once, at the end of OAI's top CMakeLists.txt. Sets <out> to what the report says, empty without patches.
function(ws_patches_apply out)
  set(${out} "" PARENT_SCOPE)
  ws_patches_wanted(sets)
  if(NOT sets)
    ws_patches_clean("")
    return()
  endif()
  ws_patches_spatch("${THREAD_POOL_WS_SPATCH}" spatch)
  if(NOT spatch)
    message(WARNING "thread_pool_ws: THREAD_POOL_WS_PATCHES is set, but ${WS_PATCHES_NO_SPATCH}. OAI is built with "
      "this pool and without patches.")
    set(${out} ", no patches (no spatch)" PARENT_SCOPE)
    ws_patches_clean("")
    return()
  endif()
  set(work "${CMAKE_BINARY_DIR}/thread_pool_ws/work") # stays when the next line stops
  ws_patches_make("${CMAKE_SOURCE_DIR}" "${sets}" "${spatch}" "${work}" files count)
  set(targets "")
  ws_patches_targets("${CMAKE_SOURCE_DIR}" targets)
  foreach(file IN LISTS files)
    ws_patches_install("${file}" "${work}" "${CMAKE_BINARY_DIR}/thread_pool_ws/patched" "${targets}")
  endforeach()
  ws_patches_clean("${files}")
  file(GLOB rules "${WS_PATCHES_DIR}/*/*.cocci")
  set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rules}
    "${WS_PATCHES_DIR}/expected.txt" "${WS_PATCHES_DIR}/macros.h")
  list(LENGTH files file_count)
  list(JOIN sets " " sets)
  set(${out} ", patches: ${sets}, ${count} insertions in ${file_count} files" PARENT_SCOPE)
endfunction()
