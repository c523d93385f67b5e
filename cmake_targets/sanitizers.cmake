# SPDX-License-Identifier: BSD-3-Clause
# ws_target_sanitize(<target> [sanitizers]): instruments a target, and all targets that link to it. Default: WS_SANITIZE
# ("" = not at all, "address,undefined", "thread"). A finding ends the program, so that a test with a report cannot pass.

include_guard(GLOBAL)

function(ws_target_sanitize target)
  if(ARGN)
    set(WS_SANITIZE ${ARGN})
  endif()
  if(NOT WS_SANITIZE)
    return()
  endif()
  if(NOT WS_SANITIZE MATCHES "^(address,undefined|address|undefined|thread)$")
    message(FATAL_ERROR "WS_SANITIZE is \"${WS_SANITIZE}\"; it may be \"\", \"address,undefined\" or \"thread\"")
  endif()
  set(flags -fsanitize=${WS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(${target} PUBLIC ${flags})
  target_link_options(${target} PUBLIC ${flags})
endfunction()
