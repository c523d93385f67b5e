# SPDX-License-Identifier: BSD-3-Clause
# Part of libuv's own build (CMAKE_PROJECT_libuv_INCLUDE): its static library gets this folder's threadpool.c in place of
# its own. WS_INCLUDE and WS_LIBRARY name the pool.
set(WS_HOOK_FOLDER ${CMAKE_CURRENT_LIST_DIR})

function(ws_replace_threadpool)
  get_target_property(sources uv_a SOURCES)
  set(others ${sources})
  list(FILTER others EXCLUDE REGEX "src/threadpool\\.c$")
  if("${others}" STREQUAL "${sources}")
    message(FATAL_ERROR "libuv: its list of sources has no src/threadpool.c")
  endif()
  set_property(TARGET uv_a PROPERTY SOURCES ${others} ${WS_HOOK_FOLDER}/threadpool.c)
  set_property(SOURCE ${WS_HOOK_FOLDER}/threadpool.c PROPERTY COMPILE_OPTIONS -std=gnu11)
  target_include_directories(uv_a PRIVATE ${WS_INCLUDE})
  target_link_libraries(uv_a ${WS_LIBRARY} ${CMAKE_DL_LIBS})
endfunction()

cmake_language(DEFER CALL ws_replace_threadpool)
