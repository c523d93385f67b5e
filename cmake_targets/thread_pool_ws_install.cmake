# SPDX-License-Identifier: BSD-3-Clause
# cmake --install: headers, static and shared library, files for find_package and pkg-config. cpack: Debian packages.
# Targets of an installation: thread_pool_ws::thread_pool_ws (shared) and thread_pool_ws::static; with the
# interfaces of other pools thread_pool_ws::api and thread_pool_ws::api_static; with fibers, where Boost.Context was
# found, thread_pool_ws::fiber and thread_pool_ws::fiber_static: find_package(thread_pool_ws COMPONENTS api fiber).
# Both have files and packages of their own. Programs without fibers do not need Boost.Context. LTTng's provider has
# a package of its own, too, which programs need only for traces.
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

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the thread_pool_ws project")
set(CPACK_PACKAGE_CONTACT "the thread_pool_ws project <maintainers@thread-pool-ws.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "work-stealing thread pool for bursts of short tasks under a deadline")
set(CPACK_COMPONENTS_ALL runtime development)
if(TARGET thread_pool_ws_lttng)
  list(APPEND CPACK_COMPONENTS_ALL lttng)
  set(CPACK_DEBIAN_LTTNG_PACKAGE_NAME libthread-pool-ws-lttng0)
endif()
if(WS_HWLOC AND HWLOC_FOUND) # opened, not linked: dpkg-shlibdeps does not see it
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS libhwloc15)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "libthread-pool-ws${PROJECT_VERSION_MAJOR}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libthread-pool-ws-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libthread-pool-ws${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
# ws_package_part(<part> [package]...)   packages of ws_install_part(<part>); the development package needs the others
macro(ws_package_part part)
  list(APPEND CPACK_COMPONENTS_ALL ${part} ${part}_development)
  string(TOUPPER ${part} ws_part)
  set(ws_package libthread-pool-ws-${part})
  set(CPACK_DEBIAN_${ws_part}_PACKAGE_NAME ${ws_package}${PROJECT_VERSION_MAJOR})
  set(CPACK_DEBIAN_${ws_part}_PACKAGE_DEPENDS "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_${ws_part}_DEVELOPMENT_PACKAGE_NAME ${ws_package}-dev)
  set(CPACK_DEBIAN_${ws_part}_DEVELOPMENT_PACKAGE_SECTION libdevel)
  string(JOIN ", " CPACK_DEBIAN_${ws_part}_DEVELOPMENT_PACKAGE_DEPENDS
    "${ws_package}${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})" "libthread-pool-ws-dev (= ${PROJECT_VERSION})" ${ARGN})
endmacro()
if(NOT CMAKE_VERSION VERSION_LESS 3.20) # an older cpack does not find our own library
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR})
  if(TARGET thread_pool_ws_api)
    ws_package_part(api)
  endif()
  if(TARGET thread_pool_ws_fiber)
    ws_package_part(fiber libboost-context-dev)
  endif()
endif()
include(CPack)
