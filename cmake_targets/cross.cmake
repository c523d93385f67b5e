# SPDX-License-Identifier: BSD-3-Clause
# Toolchain file: programs for another CPU, linked statically, run by QEMU's user emulation. Dynamic programs hang
# there when they create threads.
#   -DCMAKE_TOOLCHAIN_FILE=<here>/cross.cmake -DWS_CROSS=aarch64|riscv64 -DWS_CROSS_ROOT=<folder with lib, include>
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WS_CROSS WS_CROSS_ROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${WS_CROSS})
set(CMAKE_C_COMPILER ${WS_CROSS}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${WS_CROSS}-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
if(WS_CROSS STREQUAL riscv64)
  # gcc before 14 calls libatomic for atomics of one and two bytes there, as std::shared_ptr of a stop state has.
  set(CMAKE_CXX_STANDARD_LIBRARIES -latomic)
endif()
set(CMAKE_FIND_ROOT_PATH ${WS_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(WS_CROSS_EMULATOR NAMES qemu-${WS_CROSS}-static qemu-${WS_CROSS})
set(CMAKE_CROSSCOMPILING_EMULATOR ${WS_CROSS_EMULATOR})
