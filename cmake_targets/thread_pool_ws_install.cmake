# SPDX-License-Identifier: BSD-3-Clause
# cmake --install: headers, static and shared library, files for find_package and pkg-config. Target uninstall.
# Targets of an installation: thread_pool_ws::thread_pool_ws (shared) and thread_pool_ws::static; with the
# interfaces of other pools thread_pool_ws::api and thread_pool_ws::api_static; with fibers, where Boost.Context was
# found, thread_pool_ws::fiber and thread_pool_ws::fiber_static: find_package(thread_pool_ws COMPONENTS api fiber).
# Both have files and packages of their own. Programs without fibers do not need Boost.Context. LTTng's provider has
# a package of its own, too, which programs need only for traces. With WS_TSAN_LIBRARY=ON also thread_pool_ws::tsan, a
# static library with thread sanitizer that holds all of these: find_package(thread_pool_ws COMPONENTS tsan).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(ws_templates ${CMAKE_CURRENT_LIST_DIR}/install)
set(ws_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thread_pool_ws)

install(TARGETS thread_pool_ws thread_pool_ws_shared EXPORT thread_pool_ws
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(TARGET thread_pool_ws_lttng)
  install(TARGETS thread_pool_ws_lttng
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lttng NAMELINK_SKIP)
endif()
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/
  DESTINATION include/thread_pool_ws COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT thread_pool_ws NAMESPACE thread_pool_ws:: FILE thread_pool_wsTargets.cmake
  DESTINATION ${ws_config_dir} COMPONENT development)

configure_package_config_file(${ws_templates}/thread_pool_wsConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfig.cmake
  INSTALL_DESTINATION ${ws_config_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfigVersion.cmake
  COMPATIBILITY SameMajorVersion) # as the SONAME; CONTRIBUTING.md, Versions
file(RELATIVE_PATH WS_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # wherever it is installed
configure_file(${ws_templates}/thread_pool_ws.pc.in thread_pool_ws.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_wsConfigVersion.cmake
  DESTINATION ${ws_config_dir} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_ws.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# ws_install_part(<part>)   the libraries thread_pool_ws_<part>, with files for find_package and pkg-config
function(ws_install_part part)
  install(TARGETS thread_pool_ws_${part} thread_pool_ws_${part}_shared EXPORT thread_pool_ws_${part}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${part} NAMELINK_COMPONENT ${part}_development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${part}_development)
  install(EXPORT thread_pool_ws_${part} NAMESPACE thread_pool_ws:: FILE thread_pool_ws_${part}Targets.cmake
    DESTINATION ${ws_config_dir} COMPONENT ${part}_development)
  configure_file(${ws_templates}/thread_pool_ws_${part}.pc.in thread_pool_ws_${part}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/thread_pool_ws_${part}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${part}_development)
endfunction()

if(TARGET thread_pool_ws_api)
  ws_install_part(api)
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/api/
    DESTINATION include/thread_pool_ws/api COMPONENT api_development FILES_MATCHING PATTERN "*.h"
    PATTERN private EXCLUDE PATTERN tests EXCLUDE PATTERN examples EXCLUDE)
endif()
if(TARGET thread_pool_ws_fiber)
  install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/fiber/gdb/ws_fibers.py
    DESTINATION share/thread_pool_ws/gdb COMPONENT fiber_development)
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
  include(${CMAKE_CURRENT_LIST_DIR}/thread_pool_ws_reference.cmake)
  add_custom_target(uninstall COMMENT "Removing what the last installation wrote" VERBATIM
    COMMAND ${CMAKE_COMMAND} -DWS_BUILD=${CMAKE_BINARY_DIR} -P ${ws_templates}/uninstall.cmake)
endif()
