# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sourced by ci/test: reports processes and files that a step has left behind. A mark in their environment
# identifies the processes; files lie in a folder for temporary files that only this run uses. So other
# programs of this machine do not matter.

leftovers_mark="$$-$RANDOM$RANDOM"
leftovers_looks=50 # 0.2 s apart: a daemon that was told to end may take a while

# Marks the steps and sets TMPDIR for them.
leftovers_begin() {
  leftovers_folder=$(mktemp -d "${TMPDIR:-/tmp}/ws-test.XXXXXX") || return 1
  chmod 1777 "$leftovers_folder" # as /tmp: some tests run as another user
  export WS_TEST_RUN="$leftovers_mark" TMPDIR="$leftovers_folder"
}

leftovers_end() { rm -rf "${leftovers_folder:-}"; }

# Process numbers of programs that a step has started and that still run. Not of this shell and its subshells:
# their environment in /proc is that of the start.
leftovers_processes() {
  local files=(/proc/[0-9]*/environ) # before grep and cut are there: they have the mark, too
  grep -lzx "WS_TEST_RUN=$leftovers_mark" "${files[@]}" 2>/dev/null | cut -d / -f 3
}

# As above, but not of those that end soon.
leftovers_staying() {
  local turn
  for ((turn = 0; turn < leftovers_looks; turn++)); do
    [ -n "$(leftovers_processes)" ] || return 0
    sleep 0.2
  done
  leftovers_processes
}

# leftovers_of_step   Prints a line for each thing that was left behind, ends processes, removes files from
# TMPDIR. Returns 1 when a process was left.
leftovers_of_step() {
  local pid path status=0
  while read -r pid; do
    printf '    left behind: process %s, %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
    kill "$pid" 2>/dev/null
    status=1
  done < <(leftovers_staying)
  for path in "$TMPDIR"/* "$TMPDIR"/.[!.]*; do
    [ -e "$path" ] || continue
    case "${path##*/}" in pytest-of-*) ;; *) printf '    left behind: %s\n' "$path" ;; esac
    rm -rf "$path"
  done
  return "$status"
}
