# SPDX-License-Identifier: BSD-3-Clause
# Target ws_tool: the command tpool-ws as one file, an archive of Python with a first line that runs it. It needs no
# package besides Debian's python3-minimal, and can be copied into any container. The build itself needs no Python:
# then CMake makes the archive, with the times and owners of this build in it.
set(ws_tool ${CMAKE_BINARY_DIR}/tpool-ws)
set(ws_tool_python "/usr/bin/env python3")
if(WS_DEBIAN)
  set(ws_tool_python /usr/bin/python3) # as Debian wants it
endif()
set(ws_tool_in ${CMAKE_CURRENT_BINARY_DIR}/tool)
set(ws_python ${PROJECT_SOURCE_DIR}/nr_ulsim_bench)
file(GLOB ws_tool_live CONFIGURE_DEPENDS RELATIVE ${ws_python} ${ws_python}/nrbench/live/*.py)
set(ws_tool_sources ${ws_tool_live} nrbench/__init__.py)
list(TRANSFORM ws_tool_sources PREPEND ${ws_python}/ OUTPUT_VARIABLE ws_tool_paths)
find_program(ws_python3 python3)
mark_as_advanced(ws_python3)
if(ws_python3)
  set(ws_tool_commands
    COMMAND ${ws_python3} -B ${ws_python}/tool_file.py ${PROJECT_VERSION} "${ws_tool_python}" ${ws_tool})
else()
  file(WRITE ${ws_tool_in}/nrbench/version.py "VERSION = \"${PROJECT_VERSION}\"\n")
  set(ws_tool_commands COMMAND ${CMAKE_COMMAND} -E copy ${ws_python}/tpool-ws __main__.py)
  foreach(file IN LISTS ws_tool_sources)
    list(APPEND ws_tool_commands COMMAND ${CMAKE_COMMAND} -E copy ${ws_python}/${file} ${file})
  endforeach()
  list(APPEND ws_tool_commands
    COMMAND ${CMAKE_COMMAND} -E tar cf archive --format=zip __main__.py nrbench/version.py ${ws_tool_sources}
    COMMAND sh -c "{ echo \"#!$1\"; cat archive; } >\"$2\" && chmod 755 \"$2\"" sh "${ws_tool_python}" ${ws_tool})
endif()
file(MAKE_DIRECTORY ${ws_tool_in}/nrbench/live)
add_custom_command(OUTPUT ${ws_tool} WORKING_DIRECTORY ${ws_tool_in} VERBATIM
  DEPENDS ${ws_python}/tpool-ws ${ws_python}/tool_file.py ${ws_tool_paths}
  ${ws_tool_commands})
add_custom_target(ws_tool ALL DEPENDS ${ws_tool})
install(PROGRAMS ${ws_tool} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
configure_file(${ws_templates}/tpool-ws.1.in tpool-ws.1 @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tpool-ws.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
if(WS_DEBIAN)
  file(WRITE ${ws_tool_in}/override "# A gNB's image has no more of Python.\ntpool-ws: depends-on-python-minimal\n")
  install(FILES ${ws_tool_in}/override RENAME tpool-ws DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    COMPONENT tool)
  ws_folder_below(ws_man "\${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_MANDIR}")
  install(CODE "execute_process(COMMAND \"${ws_gzip}\" -9nf \"\$ENV{DESTDIR}${ws_man}/man1/tpool-ws.1\")"
    COMPONENT tool)
endif()
