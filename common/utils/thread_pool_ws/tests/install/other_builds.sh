# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # prefix and scratch are the step's
# Cases of step 87-install, which reads this file: the library in builds that set more than its own options.

# Nix and Guix give absolute folders, distributions name their own.
absolute_folders() {
  local out="$scratch/out" dev="$scratch/dev"
  install_library "$scratch/absolute" "$out" "-DCMAKE_INSTALL_PREFIX=$out" \
    "-DCMAKE_INSTALL_LIBDIR=$out/libs" "-DCMAKE_INSTALL_INCLUDEDIR=$dev/headers" \
    "-DCMAKE_INSTALL_DATADIR=$dev/data" "-DCMAKE_INSTALL_DOCDIR=$dev/doc" \
    "-DCMAKE_INSTALL_BINDIR=$dev/bin" "-DCMAKE_INSTALL_MANDIR=$dev/man" && [ -x "$dev/bin/tpool-ws" ] &&
    [ -z "$(find "$out" -type f -not -path "$out/libs/*")" ] && [ -f "$dev/doc/LICENSE" ] || return 1
  [ ! -e "$out/libs/libthread_pool_ws_fiber.so" ] || [ -d "$dev/data/thread_pool_ws/gdb" ] || return 1
  run_by_pkg_config "$out" examples/squares.c thread_pool_ws &&
    run_by_pkg_config "$out" common/utils/thread_pool_ws/api/examples/tpool.c thread_pool_ws_api &&
    built_by_cmake find_package "$out" in-absolute "-Dthread_pool_ws_DIR=$out/libs/cmake/thread_pool_ws"
}

# without_kind <kind> <files> <kind that is left> <its target>   One kind of library is removed, as
# distributions do: the other one is found, with its parts.
without_kind() {
  local folder="$scratch/without-$1"
  cp -r "$prefix" "$folder" && find "$folder" -name "$2" -delete && mkdir "$folder/project" || return 1
  printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(asks LANGUAGES C)' \
    "find_package(thread_pool_ws REQUIRED COMPONENTS $3 api OPTIONAL_COMPONENTS $1)" \
    "add_executable(squares $PWD/examples/squares.c)" "target_link_libraries(squares thread_pool_ws::$4)" \
    "if(thread_pool_ws_$1_FOUND)" 'message(FATAL_ERROR "found")' 'endif()' >"$folder/project/CMakeLists.txt"
  cmake -S "$folder/project" -B "$folder/build" "-DCMAKE_PREFIX_PATH=$folder" &&
    cmake --build "$folder/build" && "$folder/build/squares"
}

exported_library() {
  local out="$scratch/exported-usr"
  cmake -S examples/exported_library -B "$scratch/exported" -G Ninja -DCMAKE_INSTALL_LIBDIR=lib &&
    cmake --build "$scratch/exported" && cmake --install "$scratch/exported" --prefix "$out" &&
    built_by_cmake exported_library/program "$out" in-exported
}

# Options of the project around it: sources put together, checks that do not link, no Boost.Context.
options_of_another_project() {
  built_by_cmake add_subdirectory "$prefix" in-unity -DCMAKE_UNITY_BUILD=ON -DWS_INSTALL=ON \
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DWS_FIBER_LIBRARY=no_such_library
}

# The same files, wherever they were built.
built_elsewhere() {
  install_library "$scratch/a folder/with a longer name/build" "$scratch/again" -DWS_TSAN_LIBRARY=ON &&
    diff -r "$prefix" "$scratch/again"
}

check "absolute folders" absolute_folders
check "without static libraries" without_kind static '*.a' shared thread_pool_ws
check "without shared libraries" without_kind shared '*.so*' static static
check "a library that exports itself" exported_library
check "options of another project" options_of_another_project
check "built in another folder" built_elsewhere
