# SPDX-License-Identifier: BSD-3-Clause
# Which API OAI's own pool has, by the content of its headers: the callers compile against these, while version
# numbers may be misleading (branches, backports). ci/oai-preflight uses the same rules; the tests compare the two.
#
#   shape  notified_fifo.h  task_ans.h                          OAI
#   A      absent           -                                   v2.0.0 to v2.2.0
#   B1     there            join_task_ans, no init_task_ans     develop, 2024.w49 to 2025.w02
#   B2     there            init_task_ans                       v2.3.0
#   B2+    there            the same, and get_tpool_worker_index in thread-pool.h
#
# Extensions that only some trees of a shape have are recognised in the same way (ws_api_extras), and become
# definitions for our sources and headers:
#   WS_OAI_PUSH_BATCH     thread-pool.h has pushTpool_batch(tpool, task, is_last)
#   WS_OAI_TASK_PROFILE   task.h: task_t has a third member, oai_profile_work_t profile_work

# Sets <out> to ON when the file exists and holds the word.
function(ws_header_has file word out)
  set(${out} OFF PARENT_SCOPE)
  if(EXISTS "${file}")
    file(STRINGS "${file}" lines REGEX "(^|[^A-Za-z0-9_])${word}" LIMIT_COUNT 1)
    if(lines)
      set(${out} ON PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Stops the configuration: says what was looked for in <dir>, what is there, and what to do.
function(ws_unknown_shape dir)
  set(found "")
  foreach(name IN ITEMS thread-pool.h notified_fifo.h task_ans.h)
    if(EXISTS "${dir}/${name}")
      string(APPEND found "\n  ${name}: there, with:")
      foreach(word IN ITEMS pushTpool notifiedFIFO_elt_t task_t join_task_ans init_task_ans)
        ws_header_has("${dir}/${name}" ${word} has)
        if(has)
          string(APPEND found " ${word}")
        endif()
      endforeach()
    else()
      string(APPEND found "\n  ${name}: absent")
    endif()
  endforeach()
  message(FATAL_ERROR "thread_pool_ws: unknown shape of OAI's thread pool API in\n  ${dir}\n"
    "Looked for: thread-pool.h with pushTpool, and either notifiedFIFO_elt_t in it and no notified_fifo.h "
    "(shape A), or notified_fifo.h and task_ans.h with join_task_ans (B1) or init_task_ans (B2).\n"
    "Found:${found}\n"
    "Either the directory is no OAI tree, or this OAI is newer than thread_pool_ws knows. OAI builds with "
    "its own pool without -DCMAKE_PROJECT_OpenAirInterface_INCLUDE (remove it from the cache with -U).")
endfunction()

# Sets <out> to A, B1, B2 or B2+. Another content of these headers configures anew.
function(ws_api_shape dir out)
  ws_header_has("${dir}/thread-pool.h" pushTpool push)
  ws_header_has("${dir}/thread-pool.h" notifiedFIFO_elt_t fifo)
  ws_header_has("${dir}/thread-pool.h" get_tpool_worker_index index)
  ws_header_has("${dir}/task_ans.h" join_task_ans join)
  ws_header_has("${dir}/task_ans.h" init_task_ans init)
  set(shape "")
  if(push AND NOT EXISTS "${dir}/notified_fifo.h")
    if(fifo)
      set(shape A)
    endif()
  elseif(push AND join AND init)
    set(shape B2)
    if(index)
      set(shape B2+)
    endif()
  elseif(push AND join)
    set(shape B1)
  endif()
  if(NOT shape)
    ws_unknown_shape("${dir}")
  endif()
  foreach(name IN ITEMS thread-pool.h notified_fifo.h task_ans.h)
    if(EXISTS "${dir}/${name}")
      set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${dir}/${name}")
    endif()
  endforeach()
  set(${out} "${shape}" PARENT_SCOPE)
endfunction()

# Sets <out> to the text of the file without its comments; empty when there is none.
function(ws_header_text file out)
  set(text "")
  if(EXISTS "${file}")
    file(READ "${file}" text)
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "/\\*([^*]|\\*[^/])*\\*/" "" text "${text}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Sets <out> to the members of the struct <type> in the file, each as "<type> <name>".
function(ws_struct_members file type out)
  set(${out} "" PARENT_SCOPE)
  ws_header_text("${file}" text)
  if(text MATCHES "{([^{}]*)}[ \t\r\n]*${type}[ \t\r\n]*;")
    string(REGEX REPLACE "[ \t\r\n]+" " " members "${CMAKE_MATCH_1}")
    string(REGEX REPLACE " ?; ?" ";" members "${members}")
    list(TRANSFORM members STRIP)
    list(FILTER members EXCLUDE REGEX "^$")
    set(${out} "${members}" PARENT_SCOPE)
  endif()
endfunction()

# Sets <out> to the definitions for what the tree's headers have beyond their shape. Warns of forms that
# thread_pool_ws does not support: OAI builds and runs, but features that depend on them do not work.
function(ws_api_extras dir out)
  set(extras "")
  ws_header_text("${dir}/thread-pool.h" text)
  if(text MATCHES "[^A-Za-z0-9_]pushTpool_batch[ \t]*\\(([^()]*)\\)")
    set(parameters "${CMAKE_MATCH_1}")
    if(parameters MATCHES "^[^,]*tpool_t *\\*[^,]*,[^,]*task_t [^,]*,[^,]*bool [^,]*$")
      list(APPEND extras WS_OAI_PUSH_BATCH=1)
    else()
      message(WARNING "thread_pool_ws: ${dir}/thread-pool.h has pushTpool_batch(${parameters}); thread_pool_ws "
        "supports pushTpool_batch(tpool_t *, task_t, bool) only: callers with other parameters will not compile")
    endif()
  endif()
  ws_struct_members("${dir}/task.h" task_t members)
  foreach(member IN LISTS members)
    if(member MATCHES "oai_profile_work_t profile_work$")
      list(APPEND extras WS_OAI_TASK_PROFILE=1)
    elseif(NOT member MATCHES "[* ]args$" AND NOT member MATCHES "\\( ?\\* ?func ?\\)")
      message(WARNING "thread_pool_ws: task_t in ${dir}/task.h has the member \"${member}\", which OAI's own "
        "pool may use; thread_pool_ws ignores this member and runs func(args)")
    endif()
  endforeach()
  if(EXISTS "${dir}/task.h")
    set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${dir}/task.h")
  endif()
  set(${out} "${extras}" PARENT_SCOPE)
endfunction()

# Warns of functions of the tree's headers that our headers of the same name do not have. Callers of such
# a function will not compile, and a warning now is better than an error after an hour of building.
function(ws_warn_of_unknown_functions dir shadows)
  foreach(name IN ITEMS thread-pool.h task_ans.h)
    set(ours "")
    foreach(shadow IN LISTS shadows)
      if(EXISTS "${shadow}/${name}")
        file(READ "${shadow}/${name}" text)
        string(APPEND ours "${text}")
      endif()
    endforeach()
    if(NOT ours OR NOT EXISTS "${dir}/${name}")
      continue()
    endif()
    file(READ "${dir}/${name}" theirs)
    string(REGEX MATCHALL "[A-Za-z_]*(Tpool|tpool|task_ans|otifiedFIFO|otifiedFifo)[A-Za-z_]*[ \t]*\\("
      functions "${theirs}")
    list(REMOVE_DUPLICATES functions)
    foreach(function IN LISTS functions)
      string(REGEX REPLACE "[ \t]*\\($" "" function "${function}")
      if(NOT ours MATCHES "(^|[^A-Za-z0-9_])${function}[^A-Za-z0-9_]")
        message(WARNING "thread_pool_ws: ${dir}/${name} has ${function}(), which thread_pool_ws does not "
          "have: callers of it will not compile")
      endif()
    endforeach()
  endforeach()
endfunction()
