# SPDX-License-Identifier: BSD-3-Clause
# What the models' top CMakeLists.txt have in common, with the names of targets and files that OAI's has.
set(CMAKE_C_FLAGS "${CMAKE_C_FLAGS} -std=gnu11 -fPIC -Wall")
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -rdynamic")
include_directories("${OPENAIR_DIR}" "${OPENAIR_DIR}/common" "${OPENAIR_DIR}/common/utils" ${CMAKE_BINARY_DIR})

add_library(headers INTERFACE) # has no sources, and may not be asked for them before CMake 3.19
target_include_directories(headers INTERFACE ${OPENAIR_DIR}/openair1)

add_library(radio ${OPENAIR_DIR}/radio/radio.cpp)

set(PHY_NR_SRC
  ${OPENAIR_DIR}/openair1/PHY/NR_TRANSPORT/nr_ulsch_demodulation.c
  ${OPENAIR_DIR}/openair1/PHY/NR_TRANSPORT/nr_ulsch_decoding.c
  ${OPENAIR_DIR}/openair1/ulsch.c)
add_library(PHY_NR ${PHY_NR_SRC})
add_library(SCHED_NR_LIB ${OPENAIR_DIR}/openair1/SCHED_NR/phy_procedures_nr_gNB.c)
set(ALL -Wl,--start-group UTIL radio PHY_NR SCHED_NR_LIB -Wl,--end-group pthread dl)

add_executable(softmodem executables/softmodem.c executables/spy.c
  ${OPENAIR_DIR}/executables/nr-gnb.c ${OPENAIR_DIR}/executables/nr-ru.c)
target_link_libraries(softmodem PRIVATE ${ALL})

add_executable(nr_ulsim ${OPENAIR_DIR}/openair1/SIMULATION/NR_PHY/ulsim.c executables/spy.c)
target_link_libraries(nr_ulsim PRIVATE ${ALL})
