# SPDX-License-Identifier: BSD-3-Clause
# cpack reads this first: it stops and names what a Debian package needs, instead of writing a wrong one.
if(NOT CPACK_WS_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "thread_pool_ws: packages install into /usr, and this build into ${CPACK_WS_PREFIX}: configure it "
    "with -DCMAKE_INSTALL_PREFIX=/usr, and build again")
endif()
foreach(need IN ITEMS dpkg-shlibdeps:dpkg-dev file:file objcopy:binutils)
  string(REGEX MATCH "^([^:]*):(.*)" need "${need}")
  find_program(ws_program_${CMAKE_MATCH_2} ${CMAKE_MATCH_1})
  if(NOT ws_program_${CMAKE_MATCH_2})
    message(FATAL_ERROR "thread_pool_ws: packages need the program ${CMAKE_MATCH_1}: apt install ${CMAKE_MATCH_2}")
  endif()
endforeach()
