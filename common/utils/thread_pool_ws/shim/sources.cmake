# SPDX-License-Identifier: BSD-3-Clause
# Which files make the pool for which shape of OAI's API. Used by the hook that OAI's build includes
# (cmake_targets/thread_pool_ws.cmake) and by this project's own tests; needs no target and no variable.
set(WS_SHIM_DIR "${CMAKE_CURRENT_LIST_DIR}")
get_filename_component(WS_MODULE_DIR "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
include("${WS_MODULE_DIR}/sources.cmake")

# ws_shim_files(<A|B1|B2|B2+> <out sources> <out shadow directories>)
#   sources: the shim and the core, absolute paths; shadow directories: to come before all other include
#   directories of everything that uses the pool: one for each way in which OAI spells the headers.
function(ws_shim_files shape out_sources out_shadows)
  set(sources common/ws_tpool.c common/ws_tpool_object.c common/ws_tpool_lead.c common/ws_tpool_hooks.c common/ws_tpool_params.c
    common/ws_tpool_cores.c common/ws_tpool_log.c common/ws_tpool_report.c)
  if(shape STREQUAL "A")
    list(APPEND sources oai_fifo/tpool_fifo.c)
    set(trees oai_fifo)
  elseif(shape STREQUAL "B1")
    list(APPEND sources oai_task/tpool_task.c oai_task_array/task_ans_array.c)
    set(trees oai_task oai_task_array)
  elseif(shape MATCHES "^B2\\+?$")
    list(APPEND sources oai_task/tpool_task.c oai_task_counter/task_ans_counter.c
      oai_task_counter/task_ans_trust.c)
    set(trees oai_task oai_task_counter)
  else()
    message(FATAL_ERROR "ws_shim_files: no shim for shape \"${shape}\"; there are A, B1, B2, B2+")
  endif()
  list(TRANSFORM sources PREPEND "${WS_SHIM_DIR}/")
  set(shadows "")
  foreach(tree IN LISTS trees)
    set(top "${WS_SHIM_DIR}/${tree}")
    list(APPEND shadows "${top}" "${top}/common/utils" "${top}/common/utils/threadPool")
  endforeach()
  set(${out_sources} ${sources} ${WS_CORE_SOURCES} PARENT_SCOPE)
  set(${out_shadows} ${shadows} PARENT_SCOPE)
endfunction()

# ws_shim_private_includes(<out>)   for the target alone that compiles those sources
function(ws_shim_private_includes out)
  set(${out} "${WS_MODULE_DIR}/include" "${WS_SHIM_DIR}/common" "${WS_SHIM_DIR}/oai_task"
      "${WS_SHIM_DIR}/oai_task_counter" PARENT_SCOPE)
endfunction()
