# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash Sourced by run_tlc, run_spin and run_genmc: the table, and one line a model.

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
failed=0

skip() {
  printf '%s\n' "$*"
  exit 77
}

trim() {
  local text="$1"
  text="${text#"${text%%[![:space:]]*}"}"
  printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# each_model <tool> <function>   Calls it with name, file, expected and options of each of the tool's lines;
# it sets found (ok, or fails and perhaps a property; anything else is an error) and size.
each_model() {
  local tool name file expected options verdict
  while IFS='|' read -r tool name file expected options; do
    [ "$(trim "$tool")" = "$1" ] || continue
    name="$(trim "$name")" expected="$(trim "$expected")"
    found=error size=-
    "$2" "$(trim "$file")" "$(trim "$options")"
    verdict=ok
    if [ "$found" != "$expected" ]; then verdict=FAIL failed=1; fi
    printf '%-26s expected %-18s %14s  %s%s\n' "$name" "$expected" "$size" "$verdict" \
      "$([ "$verdict" = ok ] || printf ' (found: %s)' "$found")"
  done < <(cat "$here/models.txt" "$here/../../api/tests/model/models.txt")
  exit "$failed"
}
