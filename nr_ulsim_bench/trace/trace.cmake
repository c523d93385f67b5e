# SPDX-License-Identifier: BSD-3-Clause
# What tracing costs: the module ws-untraced, which is ws without any tracing, and ws-trace-cost. Whether the
# ledger is right: ws-noises.

# bench_of_pool(<variable> <property>)   a property of the target thread_pool_ws, empty where it has none
macro(bench_of_pool variable property)
  get_target_property(${variable} thread_pool_ws ${property})
  if(NOT ${variable})
    set(${variable} "")
  endif()
endmacro()

bench_of_pool(bench_pool_sources SOURCES)
bench_of_pool(bench_pool_definitions COMPILE_DEFINITIONS)
bench_of_pool(bench_pool_options COMPILE_OPTIONS)
set(bench_trace_definitions ${bench_pool_definitions})
list(FILTER bench_trace_definitions INCLUDE REGEX "^WS_LTTNG=")
list(FILTER bench_pool_definitions EXCLUDE REGEX "^WS_LTTNG=")

# The same sources and options; an imported target is known only where it was made.
add_library(thread_pool_ws_untraced STATIC ${bench_pool_sources})
set_target_properties(thread_pool_ws_untraced PROPERTIES
  POSITION_INDEPENDENT_CODE ON C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON)
target_compile_definitions(thread_pool_ws_untraced PRIVATE ${bench_pool_definitions} WS_UNTRACED=1)
target_compile_options(thread_pool_ws_untraced PRIVATE ${bench_pool_options})
target_include_directories(thread_pool_ws_untraced PUBLIC
  $<TARGET_PROPERTY:thread_pool_ws,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(thread_pool_ws_untraced PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
ws_target_sanitize(thread_pool_ws_untraced)
bench_backend(ws-untraced backends/ws.c thread_pool_ws_untraced)

add_executable(ws-trace-cost trace/cost.c src/report.c src/words.c)
bench_program(ws-trace-cost thread_pool_ws)
target_include_directories(ws-trace-cost PRIVATE ../common/utils/thread_pool_ws/trace)
target_compile_definitions(ws-trace-cost PRIVATE ${bench_trace_definitions})
add_executable(ws-noises trace/noises.c src/report.c src/words.c)
bench_program(ws-noises thread_pool_ws)
if(TARGET thread_pool_ws_lttng) # where the modules and programs look for it: beside themselves
  set_target_properties(thread_pool_ws_lttng PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${bench_bin})
endif()
