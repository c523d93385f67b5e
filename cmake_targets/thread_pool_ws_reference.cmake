# SPDX-License-Identifier: BSD-3-Clause
# Target reference: HTML and man pages of the public headers, in the folder reference of the build. A warning of Doxygen
# is an error. If they were made, cmake --install and the packages for development have them.
find_program(WS_DOXYGEN doxygen)
mark_as_advanced(WS_DOXYGEN)
set(WS_REFERENCE ${CMAKE_BINARY_DIR}/reference)
if(WS_DOXYGEN)
  configure_file(${ws_templates}/Doxyfile.in Doxyfile @ONLY)
  file(MAKE_DIRECTORY ${WS_REFERENCE})
  add_custom_target(reference COMMENT "Reference: ${WS_REFERENCE}/html/index.html" VERBATIM
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${WS_REFERENCE}/html ${WS_REFERENCE}/man
    COMMAND ${WS_DOXYGEN} ${CMAKE_CURRENT_BINARY_DIR}/Doxyfile
    # Doxygen sets code in a font that groff 1.23 does not have; man pages set it in bold.
    COMMAND find ${WS_REFERENCE}/man -name "*.3" -exec sed -i "s/\\\\fC/\\\\fB/g" {} +)
else()
  add_custom_target(reference VERBATIM
    COMMAND ${CMAKE_COMMAND} -E echo "thread_pool_ws: doxygen was not found: apt install doxygen, and configure again"
    COMMAND ${CMAKE_COMMAND} -E false)
endif()
set(ws_reference_doc ${CMAKE_INSTALL_DOCDIR})
if(WS_DEBIAN)
  set(ws_reference_doc ${CMAKE_INSTALL_DATAROOTDIR}/doc/libthread-pool-ws-dev)
endif()
install(DIRECTORY ${WS_REFERENCE}/html DESTINATION ${ws_reference_doc} COMPONENT development OPTIONAL)
install(DIRECTORY ${WS_REFERENCE}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development OPTIONAL
  FILES_MATCHING PATTERN "ws_*.3" PATTERN "ws_v1*" EXCLUDE PATTERN "*.hpp.3" EXCLUDE) # of C++ there is HTML
if(WS_DEBIAN)
  ws_folder_below(ws_man "\${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_MANDIR}")
  install(CODE "file(GLOB pages \"\$ENV{DESTDIR}${ws_man}/man3/ws_*.3\")
    if(pages)
      execute_process(COMMAND \"${ws_gzip}\" -9nf \${pages})
    endif()" COMPONENT development)
endif()
