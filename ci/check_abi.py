#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the shared libraries of a build, which needs debug information, with ci/abi/*.abi: those of the
last release. The rules are in CONTRIBUTING.md, Versions. Findings:

  change   a function, or a type that a caller sees, went or changed (abidiff)
  node     a function is new and its symbol version is not the one of include/ws_version.h
  dump     a library has no dump

--update writes the dumps if there is no finding; a missing one is none then. Exit status: 0 no finding,
1 findings, 77 abidiff is not installed, or the dumps are of another processor."""

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
DUMPS = CHECKOUT / "ci" / "abi"
MODULE = CHECKOUT / "common/utils/thread_pool_ws"
HEADERS = [MODULE / "include", MODULE / "api"]
ARCHITECTURE = "x86_64"  # of the dumps
LIBRARIES = ("thread_pool_ws", "thread_pool_ws_api", "thread_pool_ws_fiber")
# Structures whose size the caller gives. In that of GROWS_INSIDE only the last member may grow.
SIZED = ("ws_settings_t", "ws_stats_t", "ws_worker_stats_t", "ws_prewake_stats_t", "ws_fiber_stats_t")
GROWS_INSIDE = "ws_stats_t"
# What another machine's compiler or folder would change.
DUMP_OPTIONS = (
    "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--no-write-default-sizes",
    "--type-id-style", "hash", "--exported-interfaces-only", "--drop-private-types",
)  # fmt: skip
SYMBOL = re.compile(r"^\S*\s*\w\s(\w+)@@?(\S+)$", re.MULTILINE)
# Functions for the library of fibers of the same build.
PRIVATE = re.compile(
    r"^ *<elf-symbol [^>]*_PRIVATE_.*\n|^ *<function-decl [^>]*_PRIVATE_(?:.*\n)*?.*</function-decl>\n",
    re.MULTILINE,
)
DUMPED = re.compile(r"<elf-symbol name='(\w+)'")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def must(*command: str) -> str:
    done = run(*command)
    if done.returncode != 0:
        sys.exit(f"check_abi.py: {' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def current_node(header: str) -> str:
    """The end of the names of nodes that this version adds symbols to."""
    numbers = re.findall(r"#define WS_VERSION_(?:MAJOR|MINOR) (\d+)", header)
    return "_" + ".".join(numbers)


def exported(library: Path) -> dict[str, str]:
    """Symbols with their nodes, without those for a library of the same build."""
    listed = must("nm", "-D", "--defined-only", "--with-symbol-versions", str(library))
    return {name: node for name, node in SYMBOL.findall(listed) if "_PRIVATE_" not in node}


def dump(library: Path, headers: list[Path], out: Path) -> None:
    options = [word for folder in headers for word in ("--headers-dir", str(folder))]
    text = must("abidw", *DUMP_OPTIONS, *options, str(library))
    out.write_text(PRIVATE.sub("", text).replace(f"{CHECKOUT}/", ""), encoding="utf-8")


def members(dumped: str, name: str) -> list[str]:
    """The lines of a structure's members in a dump: names, offsets, types."""
    found = re.search(rf"<class-decl name='{name}'[^>]*[^/]>\n((?:.*\n)*?) *</class-decl>", dumped)
    lines = found[1].splitlines() if found else []
    dropped = r"name='\w+'" if name == GROWS_INSIDE else r"(?!)"  # a reserved field may get another name
    return [re.sub(dropped, "", x.strip()) for x in lines if "<data-member " in x or "<var-decl " in x]


def suppressions(old: str, new: str) -> str:
    """Rules for abidiff: structures to which fields were only appended, and whose size the caller gives."""
    rules = ["# none"]
    for name in SIZED:
        before, after = members(old, name), members(new, name)
        if before and before == (after if name == GROWS_INSIDE else after[: len(before)]):
            rules.append(f"[suppress_type]\n  name = {name}")
    return "\n".join(rules) + "\n"


def compare(name: str, library: Path, new: Path, node: str) -> Iterator[str]:
    old = DUMPS / f"{name}.abi"
    if not old.is_file():
        yield f"{name}: [dump] {old.name} is missing: --update writes it"
        return
    allowed = new.with_suffix(".suppr")
    allowed.write_text(suppressions(old.read_text(encoding="utf-8"), new.read_text(encoding="utf-8")))
    done = run("abidiff", "--no-added-syms", "--suppressions", str(allowed), str(old), str(new))
    if done.returncode != 0:
        yield f"{name}: [change]\n{done.stdout}{done.stderr}"
    known = set(DUMPED.findall(old.read_text(encoding="utf-8")))
    for symbol, its in sorted(exported(library).items()):
        if symbol not in known and not its.endswith(node):
            yield f"{name}: [node] {symbol} is new and belongs to the node ...{node}, not to {its}"


def find(build: Path) -> Iterator[tuple[str, Path]]:
    for name in LIBRARIES:
        found = sorted(build.rglob(f"lib{name}.so"))
        if not found:
            sys.exit(f"check_abi.py: {build} has no lib{name}.so: build it first, with debug information")
        yield name, found[0]


def check(build: Path, update: bool) -> list[str]:
    node = current_node((MODULE / "include/ws_version.h").read_text(encoding="utf-8"))
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, library in find(build):
            new = Path(scratch) / f"{name}.abi"
            dump(library, HEADERS, new)
            if not update or (DUMPS / new.name).is_file():
                findings += compare(name, library, new, node)
        if update and not findings:
            shutil.copytree(scratch, DUMPS, ignore=shutil.ignore_patterns("*.suppr"), dirs_exist_ok=True)
    return findings


def main() -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("build", type=Path, help="build folder: step 88-abi makes build-ci/abi")
    parser.add_argument("--update", action="store_true", help="write the dumps, if this build breaks nothing")
    options = parser.parse_args()
    if shutil.which("abidiff") is None:
        print("abidiff is not installed: apt install abigail-tools")
        return 77
    if platform.machine() != ARCHITECTURE:
        print(f"the dumps in ci/abi are of {ARCHITECTURE}")
        return 77
    findings = check(options.build, options.update)
    print(*findings, f"check_abi.py: {len(findings)} findings", sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
