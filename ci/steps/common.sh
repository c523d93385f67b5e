# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sourced by the steps: build a preset, run its tests, count them. Build trees lie in build-ci/<preset>, apart
# from a developer's own build-<preset>. An unset variable ends the step.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
test_seconds_max=1000
pytest_seconds_max=1000
# A test of the library says that it takes two processors (PROCESSORS in CMake): this many let ctest run as
# many tests side by side as there are CPUs. A step that wants each test alone sets 1.
test_processors=$((2 * $(nproc)))
# Presets that name no compiler take the machine's; a step that names gcc means it.
GCC=(-DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++)
WRAP=()
good=0 bad=0 left_out=0 # cases of a step: check, leave_out, report_cases
of_label=() # of ctest
asan_options=detect_stack_use_after_return=1:strict_string_checks=1:detect_leaks=1
ubsan_options=halt_on_error=1:print_stacktrace=1
# The one suppression is in tests/cxx/cxx_main.cpp. Each process stays 50 ms at its exit for races there, not
# 1 s as by default: the contract tests make hundreds of processes. A program may end while an aborted pool
# joins its threads: no leak.
tsan_options=halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=50:report_thread_leaks=0
# The library is built in several trees, often with the same options: each file is compiled once. Of the
# trees that share an object file, the debug information names the first. Trees in the step's folder for
# temporary files differ in that folder's name only, which ccache leaves out.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_DIR="$PWD/build-ci/ccache" CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=1G CCACHE_BASEDIR="${TMPDIR:-}"
fi

skip() {
  printf '%s\n' "$*"
  exit 77
}

# Sets "scratch" to a folder that the step removes at its end.
make_scratch() { scratch="$(mktemp -d)" && trap 'rm -rf "$scratch"' EXIT; }

# need <what>...   has ci/setup install the packages that the step needs besides ci/packages-test.txt. If one
# cannot be installed, the step is skipped with setup's last line, which names it.
need() {
  local log=build-ci/need.$$ last
  mkdir -p build-ci
  ci/setup "$@" 2>&1 | tee "$log"
  [ "${PIPESTATUS[0]}" != 0 ] || { rm -f "$log"; return; }
  last=$(tail -n 1 "$log")
  rm -f "$log"
  skip "$last"
}

# bare_root <folder> <architecture> <release> <package>[,<package>]...   Debian's packages and what they
# depend on, unpacked and not configured: nothing of them runs, and no foreign architecture is added to this
# machine.
bare_root() {
  local mirror
  [ ! -d "$1" ] || return 0
  mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Component: main' | head -n 1)"
  mkdir -p "$(dirname "$1")" && rm -rf "$1.part" &&
    mmdebstrap --quiet --variant=extract --architectures="$2" --include="$4" \
      --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr "$3" "$1.part" "$mirror" && mv "$1.part" "$1"
}

# need_program <program> <package>   skips the step without the program
need_program() { command -v "$1" >/dev/null || skip "$1 is not installed: apt install $2"; }

# check <name> <command>...   one case of a step
check() {
  printf '== %s\n' "$1"
  if "${@:2}"; then
    good=$((good + 1))
  else
    bad=$((bad + 1))
    printf 'FAILED: %s\n' "$1"
  fi
}

# leave_out <why> [<number>]   one case, or so many, that cannot run here
leave_out() {
  printf 'skipped: %s\n' "$1"
  left_out=$((left_out + ${2:-1}))
}

# report_cases   prints how many cases passed; fails if one did not
report_cases() {
  printf '%d passed, %d failed, %d skipped\n' "$good" "$bad" "$left_out"
  [ "$bad" -eq 0 ]
}

# together <command line>...   cases of a step, all at once. Counts as check does, prints outputs in order,
# those of cases that failed last.
together() {
  local folder line at=0 started=() failed=()
  folder="$(mktemp -d)"
  for line in "$@"; do
    bash -c "$line" >"$folder/${#started[@]}" 2>&1 &
    started+=($!)
  done
  for line in "$@"; do
    if wait "${started[at]}"; then check "$line" cat "$folder/$at"; else failed+=("$at"); fi
    at=$((at + 1))
  done
  for at in "${failed[@]}"; do check "${*:at+1:1}" eval "cat '$folder/$at' && false"; done
  rm -rf "$folder"
}

# need_sanitizer <compiler> <sanitizers>   skips the step when the compiler cannot link with them
need_sanitizer() {
  local probe="build-ci/sanitizer-probe" package="libgcc-$(gcc -dumpversion)-dev"
  need_program "$1" "$1"
  if [ "$1" = clang ]; then package="libclang-rt-dev (Debian 12: libclang-rt-14-dev)"; fi
  mkdir -p "$probe"
  printf 'int main(void)\n{\n  return 0;\n}\n' >"$probe/probe.c"
  "$1" "-fsanitize=$2" -o "$probe/$1" "$probe/probe.c" ||
    skip "$1 cannot link with -fsanitize=$2: apt install $package"
}

# The version of this project: that of ws_version.h.
project_version() {
  sed -n 's/#define WS_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' common/utils/thread_pool_ws/include/ws_version.h |
    paste -sd.
}

# configure <preset> [cmake option]...
configure() { cmake --preset "$1" -B "build-ci/$1" -DWS_WERROR=ON "${@:2}"; }

build() { cmake --build "build-ci/$1" "${@:2}"; }

# install_library <build folder> <prefix> [cmake option]...   the optimised library, without its tests
install_library() {
  cmake -S . -B "$1" -G Ninja -DWS_TESTS=OFF -DCMAKE_BUILD_TYPE=Release "${@:3}" &&
    cmake --build "$1" && cmake --install "$1" --prefix "$2"
}

# folder_of_libraries <prefix>
folder_of_libraries() { find "$1" -name thread_pool_ws.pc -printf '%h' | sed 's,/pkgconfig$,,'; }

# run_by_pkg_config <prefix> <source> <argument of pkg-config>...   Compiles a program with the flags that
# pkg-config gives for a library installed there, and with CFLAGS; runs it. It lies in the step's folder
# "scratch".
run_by_pkg_config() {
  local folder program flags
  folder="$(folder_of_libraries "$1")" program="$scratch/$(basename "$2" .c)"
  flags="$(PKG_CONFIG_PATH="$folder/pkgconfig" pkg-config --cflags --libs "${@:3}")" || return 1
  # shellcheck disable=SC2086 # several flags
  "${CC:-cc}" ${CFLAGS:-} -Wall -Wextra -Werror "$2" -o "$program" $flags &&
    LD_LIBRARY_PATH="$folder" "$program"
}

# built_by_cmake <folder of examples> [<prefix> <build folder> [option]...]
#   Builds its programs with a library that is installed there, in the step's folder "scratch", and runs them.
built_by_cmake() {
  local build="$scratch/${3:-$1}" program
  cmake -S "examples/$1" -B "$build" -G Ninja "-DCMAKE_PREFIX_PATH=${2:-$prefix}" "${@:4}" &&
    cmake --build "$build" || return 1
  for program in "$build"/squares* "$build/pi" "$build"/pipeline*; do
    [ ! -x "$program" ] || [ -d "$program" ] || "$program" || return 1
  done
}

# One attribute of the <testsuite> element in a JUnit file; 0 when it has none.
junit_attribute() {
  local value
  value=$(grep -m 1 -oE "[[:space:]]$2=\"[0-9]+\"" "$1" | grep -oE '[0-9]+')
  printf '%d' "${value:-0}"
}

# count_tests <JUnit file>   adds its tests to the step's cases, and prints how many there are then
count_tests() {
  local tests failed skips
  [ -f "$1" ] || return
  tests=$(junit_attribute "$1" tests)
  failed=$(($(junit_attribute "$1" failures) + $(junit_attribute "$1" errors)))
  skips=$(($(junit_attribute "$1" skipped) + $(junit_attribute "$1" disabled)))
  good=$((good + tests - failed - skips)) bad=$((bad + failed)) left_out=$((left_out + skips))
  report_cases
}

# run_tests <preset> [ctest option]...   All tests. Prefix: the array WRAP, for example setarch.
run_tests() {
  local code=0 junit="$PWD/build-ci/$1/junit.xml"
  rm -f "$junit"
  "${WRAP[@]}" ctest --test-dir "build-ci/$1" "${of_label[@]}" --output-on-failure --no-tests=error \
    --timeout "$test_seconds_max" --parallel "$test_processors" --output-junit "$junit" "${@:2}" || code=$?
  count_tests "$junit"
  return "$code"
}

# build_and_test <preset> [cmake option]...
build_and_test() { configure "$@" && build "$1" && run_tests "$1"; }

# tsan_wrap <compiler>   Thread sanitizer keeps its shadow at fixed addresses, which a kernel with much
# address-space randomisation may hand out: try, then try without randomisation, then give up visibly.
tsan_wrap() {
  local probe=build-ci/sanitizer-probe
  need_sanitizer "$1" thread
  if probe_starts "$probe/$1"; then
    WRAP=()
  elif probe_starts setarch -R "$probe/$1"; then
    WRAP=(setarch -R)
  else
    skip "thread sanitizer cannot start on this kernel; sysctl vm.mmap_rnd_bits=28 helps"
  fi
}

# Several times, for the addresses are drawn by chance.
probe_starts() {
  local i
  for i in 1 2 3 4 5 6 7 8; do
    "$@" >/dev/null 2>&1 || return 1
  done
}

# pytest_counted <name> <folder, file or option>...   runs their tests, counts them. With the option "-n <N>"
# N processes share the tests: each has its own fixtures of the session. The process of a test that takes too
# long shows where its threads stand, and ends: the test counts as failed.
pytest_counted() {
  local junit="$PWD/build-ci/$1.xml" code
  mkdir -p build-ci && rm -f "$junit"
  .venv/bin/python -m pytest -q -rs -p no:cacheprovider --junitxml "$junit" \
    -o faulthandler_timeout="$pytest_seconds_max" -o faulthandler_exit_on_timeout=true "${@:2}"
  code=$?
  count_tests "$junit"
  return "$code"
}

# apart <command>...   Runs it where the machine's session daemons of LTTng are not seen, and where those that
# it starts end with it, however it ends. Root's daemons have fixed places, so root gets other mounts and
# process numbers (not in a container that forbids it: there the command has to end its own daemon).
apart() {
  local other=(unshare --mount --pid --fork --kill-child --mount-proc)
  if [ "$(id -u)" != 0 ]; then
    apart_home "$@"
  elif "${other[@]}" true 2>/dev/null; then
    "${other[@]}" bash -c 'mount -t tmpfs run /run && mount -t tmpfs shm /dev/shm && "$@"' apart "$@"
  else
    "$@"
  fi
}

# The same for another user, whose daemons have their places in LTTNG_HOME.
apart_home() (
  LTTNG_HOME=$(mktemp -d) || exit 1
  export LTTNG_HOME
  end_daemon() {
    local pid
    pid=$(cat "$LTTNG_HOME/.lttng/lttng-sessiond.pid" 2>/dev/null) && kill "$pid" 2>/dev/null
    rm -rf "$LTTNG_HOME"
  }
  trap end_daemon EXIT
  trap 'exit 130' INT TERM
  "$@"
)
