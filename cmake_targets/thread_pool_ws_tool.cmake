# SPDX-License-Identifier: BSD-3-Clause
# Target ws_tool: the command tpool-ws as one file, an archive of Python with a first line that runs it. It needs no
# package besides Debian's python3-minimal, and can be copied into any container. The build itself needs no Python.
set(ws_tool ${CMAKE_BINARY_DIR}/tpool-ws)
set(ws_tool_python "/usr/bin/env python3")
if(WS_DEBIAN)
  set(ws_tool_python /usr/bin/python3) # as Debian wants it
endif()
set(ws_tool_in ${CMAKE_CURRENT_BINARY_DIR}/tool)
set(ws_python ${PROJECT_SOURCE_DIR}/nr_ulsim_bench)
file(GLOB ws_tool_live CONFIGURE_DEPENDS RELATIVE ${ws_python} ${ws_python}/nrbench/live/*.py)
file(WRITE ${ws_tool_in}/version.py "VERSION = \"${PROJECT_VERSION}\"\n")
set(ws_tool_files __main__.py nrbench/version.py)
set(ws_tool_copies COMMAND ${CMAKE_COMMAND} -E copy ${ws_python}/tpool-ws files/__main__.py
  COMMAND ${CMAKE_COMMAND} -E copy version.py files/nrbench/version.py)
foreach(file IN LISTS ws_tool_live ITEMS nrbench/__init__.py)
  list(APPEND ws_tool_files ${file})
  list(APPEND ws_tool_sources ${ws_python}/${file})
  list(APPEND ws_tool_copies COMMAND ${CMAKE_COMMAND} -E copy ${ws_python}/${file} files/${file})
endforeach()
add_custom_command(OUTPUT ${ws_tool} WORKING_DIRECTORY ${ws_tool_in} VERBATIM
  DEPENDS ${ws_python}/tpool-ws ${ws_tool_sources} ${ws_tool_in}/version.py
  COMMAND ${CMAKE_COMMAND} -E make_directory files/nrbench/live
  ${ws_tool_copies}
  COMMAND ${CMAKE_COMMAND} -E chdir files ${CMAKE_COMMAND} -E tar cf ../archive --format=zip --mtime=2000-01-01
    ${ws_tool_files}
  COMMAND sh -c "{ echo \"#!$1\"; cat archive; } >\"$2\" && chmod 755 \"$2\"" sh "${ws_tool_python}" ${ws_tool})
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
