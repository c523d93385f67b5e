# SPDX-License-Identifier: BSD-3-Clause
# cmake --install: headers, static and shared library, files for find_package and pkg-config. Target uninstall.
# Targets of an installation: thread_pool_ws::thread_pool_ws (shared) and thread_pool_ws::static; with the
# interfaces of other pools thread_pool_ws::api and thread_pool_ws::api_static; with fibers, where Boost.Context was
# found, thread_pool_ws::fiber and thread_pool_ws::fiber_static: find_package(thread_pool_ws COMPONENTS api fiber).
# Both have files and packages of their own. Programs without fibers do not need Boost.Context. LTTng's provider has
# a package of its own, too, which programs need only for traces. With WS_TSAN_LIBRARY=ON also thread_pool_ws::tsan, a
# static library with thread sanitizer that holds all of these: find_package(thread_pool_ws COMPONENTS tsan).
include(CMakePackageConfigHelpers)
set(ws_templates ${CMAKE_CURRENT_LIST_DIR}/install)
set(ws_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thread_pool_ws)

# ws_install_libraries(<library> <component> <component for development>)   An export set for each of the two: where a
# distribution has removed the static library, thread_pool_wsConfig.cmake goes without its set.
function(ws_install_libraries library component development)
  install(TARGETS ${library}_shared EXPORT ${library}_shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${development})
  install(TARGETS ${library} EXPORT ${library}_static
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${development})
  foreach(kind IN ITEMS shared static)
    install(EXPORT ${library}_${kind} NAMESPACE thread_pool_ws:: FILE ${library}_${kind}Targets.cmake
      DESTINATION ${ws_config_dir} COMPONENT ${development})
  endforeach()
endfunction()

# Sets <out> to a folder of an installation: below <prefix>, or absolute.
function(ws_folder_below out prefix folder)
  if(NOT IS_ABSOLUTE "${folder}")
    set(folder "${prefix}/${folder}")
  endif()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

ws_install_libraries(thread_pool_ws runtime development)
if(TARGET thread_pool_ws_lttng)
  install(TARGETS thread_pool_ws_lttng
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lttng NAMELINK_SKIP)
endif()
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/
  DESTINATION ${WS_INSTALL_INCLUDE} COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

configure_package_config_file(${ws_templates}/thread_pool_wsConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfig.cmake
  INSTALL_DESTINATION ${ws_config_dir} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfigVersion.cmake
  COMPATIBILITY SameMajorVersion) # as the SONAME; CONTRIBUTING.md, Versions
set(WS_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}") # wherever it is installed
  file(RELATIVE_PATH WS_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(WS_PC_PREFIX "\${pcfiledir}/${WS_PC_PREFIX}")
endif()
ws_folder_below(WS_PC_LIBDIR "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
ws_folder_below(WS_PC_INCLUDEDIR "\${prefix}" "${WS_INSTALL_INCLUDE}")
configure_file(${ws_templates}/thread_pool_ws.pc.in thread_pool_ws.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfigVersion.cmake
  DESTINATION ${ws_config_dir} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_ws.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# ws_install_part(<part>)   the libraries thread_pool_ws_<part>, with files for find_package and pkg-config
function(ws_install_part part)
  ws_install_libraries(thread_pool_ws_${part} ${part} ${part}_development)
  configure_file(${ws_templates}/thread_pool_ws_${part}.pc.in thread_pool_ws_${part}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_ws_${part}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${part}_development)
endfunction()

install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/observe/gdb/ws_blocked.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/thread_pool_ws/gdb COMPONENT development)
if(TARGET thread_pool_ws_api)
  ws_install_part(api)
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/api/
    DESTINATION ${WS_INSTALL_INCLUDE}/api COMPONENT api_development FILES_MATCHING PATTERN "*.h"
    PATTERN private EXCLUDE PATTERN tests EXCLUDE PATTERN examples EXCLUDE)
endif()
if(TARGET thread_pool_ws_fiber)
  install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/fiber/gdb/ws_fibers.py
    DESTINATION ${CMAKE_INSTALL_DATADIR}/thread_pool_ws/gdb COMPONENT fiber_development)
  set(WS_PC_FIBER_LIBRARY "${WS_FIBER_LIBRARY}")
  if(NOT WS_FIBER_LIBRARY MATCHES "^[-/]")
    set(WS_PC_FIBER_LIBRARY "-l${WS_FIBER_LIBRARY}")
  endif()
  ws_install_part(fiber)
endif()

if(TARGET thread_pool_ws_tsan)
  install(TARGETS thread_pool_ws_tsan EXPORT thread_pool_ws_tsan
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tsan)
  install(EXPORT thread_pool_ws_tsan NAMESPACE thread_pool_ws:: FILE thread_pool_ws_tsanTargets.cmake
    DESTINATION ${ws_config_dir} COMPONENT tsan)
endif()

if(WS_TOP_LEVEL)
  include(${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_package.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_tool.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_reference.cmake)
  add_custom_target(uninstall COMMENT "Removing what the last installation wrote" VERBATIM
    COMMAND ${CMAKE_COMMAND} -DWS_BUILD=${CMAKE_BINARY_DIR} -P ${ws_templates}/uninstall.cmake)
endif()
