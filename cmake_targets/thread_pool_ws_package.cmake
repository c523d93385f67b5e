# SPDX-License-Identifier: BSD-3-Clause
# cpack: Debian packages of what thread_pool_ws_install.cmake installs, a package for each component. With debug
# information in the build (CMAKE_BUILD_TYPE=RelWithDebInfo) there are packages -dbgsym, too.
set(ws_name libthread-pool-ws)
set(ws_soversion ${PROJECT_VERSION_MAJOR})
set(ws_exactly "(= ${PROJECT_VERSION})")

# ws_package_documents(<component> <package>)   what Debian wants in each package: a licence, a list of changes
function(ws_package_documents component package)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
endfunction()

# ws_package_control(<component> <package> <out>)   sets <out> to files of control for a shared library: which package a
# program needs that was linked with it. CPack's own shlibs would bring scripts with it.
function(ws_package_control component package out)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/control/${component})
  set(library thread_pool_ws_${component})
  if(component STREQUAL "runtime")
    set(library thread_pool_ws)
  endif()
  file(WRITE ${folder}/shlibs "lib${library} ${ws_soversion} ${package} (>= ${PROJECT_VERSION})\n")
  file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")
  set(${out} "${folder}/shlibs;${folder}/triggers" PARENT_SCOPE)
endfunction()

# ws_package(<component> <package> <what it is>)
macro(ws_package component package what)
  string(TOUPPER ${component} ws_upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${ws_upper}_PACKAGE_NAME ${package})
  set(CPACK_COMPONENT_${ws_upper}_DESCRIPTION "${what}")
  if(NOT "${package}" MATCHES "-dev$|^tpool-ws$") # the package has a shared library
    ws_package_control(${component} ${package} CPACK_DEBIAN_${ws_upper}_PACKAGE_CONTROL_EXTRA)
  endif()
  if(WS_DEBIAN)
    ws_package_documents(${component} ${package})
  endif()
endmacro()

# ws_package_strip(<component>)   as Debian wants it, archives have names in packages, and no lines
function(ws_package_strip component)
  if(WS_DEBIAN AND CMAKE_STRIP)
    ws_folder_below(archives "\${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_LIBDIR}")
    install(CODE "file(GLOB archives \"\$ENV{DESTDIR}${archives}/*.a\")
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug --remove-section=.comment
        --enable-deterministic-archives \${archives})"
      COMPONENT ${component})
  endif()
endfunction()

# ws_package_library(<component> <package> <what it is> [package]...)   a library, and its package for development,
# which needs the other packages
macro(ws_package_library component package what)
  set(ws_development development)
  if(NOT "${component}" STREQUAL "runtime")
    set(ws_development ${component}_development)
  endif()
  ws_package(${component} ${package}${ws_soversion} "${what}\nThe shared library.")
  ws_package(${ws_development} ${package}-dev "${what}\nHeaders, a static library, and files for pkg-config and CMake.")
  set(CPACK_DEBIAN_${ws_upper}_PACKAGE_SECTION libdevel)
  string(JOIN ", " CPACK_DEBIAN_${ws_upper}_PACKAGE_DEPENDS "${package}${ws_soversion} ${ws_exactly}" ${ARGN})
  ws_package_strip(${ws_development})
endmacro()

set(WS_PACKAGE_CONTACT "thread_pool_ws project <maintainers@thread-pool-ws.invalid>" CACHE STRING
  "Who builds the packages: name <mail>")
set(WS_DEBIAN OFF)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  find_program(ws_gzip gzip)
  if(ws_gzip)
    set(WS_DEBIAN ON)
    string(TIMESTAMP ws_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/changelog "thread-pool-ws (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
      "  * Changes: CHANGELOG.md of the sources.\n\n -- ${WS_PACKAGE_CONTACT}  ${ws_date}\n")
    string(TIMESTAMP ws_year "%Y" UTC)
    file(READ ${PROJECT_SOURCE_DIR}/LICENSE ws_licence)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/copyright "Copyright (C) ${ws_year} the thread_pool_ws authors\n\n${ws_licence}")
    execute_process(COMMAND ${ws_gzip} -9nf ${CMAKE_CURRENT_BINARY_DIR}/changelog)
  endif()
endif()
if(NOT WS_DEBIAN)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
endif()

ws_package_library(runtime ${ws_name} "C and C++ programs push bursts of short tasks and wait for them.")
if(TARGET thread_pool_ws_lttng)
  ws_package(lttng ${ws_name}-lttng0 "Tracepoints for LTTng, which a program loads if TPOOL_WS_TRACE=1 is set.")
endif()
if(NOT CMAKE_VERSION VERSION_LESS 3.20) # an older cpack does not find our own library
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR})
  set(ws_core_dev "${ws_name}-dev ${ws_exactly}")
  if(TARGET thread_pool_ws_api)
    ws_package_library(api ${ws_name}-api "The interfaces task_manager, tpool and ws_sched on this pool." ${ws_core_dev})
    set(CPACK_DEBIAN_API_PACKAGE_DEPENDS "${ws_name}${ws_soversion} ${ws_exactly}")
  endif()
  if(TARGET thread_pool_ws_fiber)
    ws_package_library(fiber ${ws_name}-fiber "Fibers, and their waits for locks, times and file descriptors."
      ${ws_core_dev} libboost-context-dev)
    set(CPACK_DEBIAN_FIBER_PACKAGE_DEPENDS "${ws_name}${ws_soversion} ${ws_exactly}")
  endif()
  if(TARGET thread_pool_ws_tsan)
    ws_package(tsan ${ws_name}-tsan-dev "The pool with ThreadSanitizer, for programs that are built with it.")
    ws_package_strip(tsan)
    set(CPACK_DEBIAN_TSAN_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_TSAN_PACKAGE_DEPENDS "${ws_core_dev}")
  endif()
endif()

ws_package(tool tpool-ws "Watches and changes pools of programs that run: the command tpool-ws.")
set(CPACK_DEBIAN_TOOL_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_TOOL_PACKAGE_MULTIARCH foreign)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "python3-minimal (>= 3.9)")
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS python3) # for export

set(CPACK_WS_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_PROJECT_CONFIG_FILE ${ws_templates}/package_needs.cmake)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the thread_pool_ws project")
set(CPACK_PACKAGE_CONTACT "${WS_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "work-stealing thread pool for bursts of short tasks")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE thread-pool-ws)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON) # strips the libraries as well
else()
  set(CPACK_STRIP_FILES ON)
endif()
include(CPack)
