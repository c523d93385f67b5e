# SPDX-License-Identifier: BSD-3-Clause
# The version of include/ws_version.h: for the standalone build (top CMakeLists.txt) and for the hook into OAI's.
set(ws_version_header "${CMAKE_CURRENT_LIST_DIR}/../common/utils/thread_pool_ws/include/ws_version.h")
file(STRINGS "${ws_version_header}" WS_VERSION REGEX "define WS_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ws_version_header}")
list(TRANSFORM WS_VERSION REPLACE "[^0-9]+" "")
string(JOIN . WS_VERSION ${WS_VERSION})

# ws_version_full(<out>)   the version and this checkout's commit, 0.1.0+0123456; +0123456.dirty if files differ
#   from the commit; without git, or in a copy that is no checkout, the version alone. CMake configures again
#   when the commit changes.
set(WS_VERSION_DIR "${CMAKE_CURRENT_LIST_DIR}")
function(ws_version_full out)
  set(${out} "${WS_VERSION}" PARENT_SCOPE)
  set(git git -C "${WS_VERSION_DIR}/..")
  # A copy inside another project's checkout has a prefix there.
  execute_process(COMMAND ${git} rev-parse --show-prefix --absolute-git-dir
    OUTPUT_VARIABLE place ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed OR NOT place MATCHES "^\n(.+)$")
    return()
  endif()
  set(log "${CMAKE_MATCH_1}/logs/HEAD")
  execute_process(COMMAND ${git} describe --always --dirty=.dirty --abbrev=7 --exclude=*
    OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    return()
  endif()
  if(EXISTS "${log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")
  endif()
  set(${out} "${WS_VERSION}+${commit}" PARENT_SCOPE)
endfunction()
