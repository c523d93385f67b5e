# SPDX-License-Identifier: BSD-3-Clause
# ws_target_warnings(<target>): the warnings that every target of this project builds without, as errors under WS_WERROR;
# with the flags of the folder's WS_WARNINGS.
#
# Left out on purpose: -Wconversion. Ring indices wrap and are masked on every line of a queue; the casts it asks for
# would hide the arithmetic that a reader has to check.

include_guard(GLOBAL)

function(ws_target_warnings target)
  set(both -Wall -Wextra -Wshadow -Wundef -Wpointer-arith -Wwrite-strings -Wcast-align -Wformat=2
           -Wimplicit-fallthrough -Wdouble-promotion ${WS_WARNINGS})
  set(c_only -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)
  set(cxx_only -Wnon-virtual-dtor -Woverloaded-virtual)
  set(gcc_only -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
  # An operator applied to an _Atomic object is sequentially consistent without saying so; only clang sees it.
  set(clang_only -Watomic-implicit-seq-cst)
  if(WS_WERROR)
    list(APPEND both -Werror)
  endif()
  foreach(language IN ITEMS C CXX)
    set(flags ${both})
    if(language STREQUAL "C")
      list(APPEND flags ${c_only})
    else()
      list(APPEND flags ${cxx_only})
    endif()
    if(CMAKE_${language}_COMPILER_ID STREQUAL "GNU")
      list(APPEND flags ${gcc_only})
    elseif(CMAKE_${language}_COMPILER_ID MATCHES "Clang")
      list(APPEND flags ${clang_only})
    else()
      continue() # not loaded, or a compiler whose flags we do not know
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:${language}>:${flags}>")
  endforeach()
endfunction()
