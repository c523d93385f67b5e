# SPDX-License-Identifier: BSD-3-Clause
# Toolchain file: programs for another CPU, with the libraries of packages that bare_root() in ci/steps/common.sh
# unpacked. The C library and its headers are those of Debian's cross compiler.
#   -DCMAKE_TOOLCHAIN_FILE=<here>/cross.cmake -DWS_CROSS=aarch64|riscv64 -DWS_CROSS_ROOT=<that root>
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WS_CROSS WS_CROSS_ROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${WS_CROSS})
set(CMAKE_C_COMPILER ${WS_CROSS}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${WS_CROSS}-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${WS_CROSS}-linux-gnu)
if(WS_CROSS STREQUAL riscv64)
  # gcc before 14 calls libatomic for atomics of one and two bytes there, as std::shared_ptr of a stop state has.
  set(CMAKE_CXX_STANDARD_LIBRARIES -latomic)
endif()
set(CMAKE_SYSROOT ${WS_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${WS_CROSS_ROOT}/usr/lib/${WS_CROSS}-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${WS_CROSS_ROOT})
