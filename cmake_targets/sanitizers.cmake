# SPDX-License-Identifier: BSD-3-Clause
# ws_target_sanitize(<target>): instruments a target, and whatever links to it, as WS_SANITIZE says
# ("" = not at all, "address,undefined", "thread"). A finding ends the program: a test that prints a report and
# passes is no test.

include_guard(GLOBAL)

function(ws_target_sanitize target)
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
