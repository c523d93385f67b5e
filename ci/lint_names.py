#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names that the library shows to others, and state that it hides from them.

In the public headers: type, function, constant (begin with ws_ or WS_, types end in _t), unit (a time says
its unit). In an archive, with --archive: symbol (external symbols begin with ws_), state (no mutable data at
file scope outside the files of STATEFUL), constructor (nothing runs before main).
"""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lintkit import MODULE, Finding, is_product, line_of, read, repo_root, report, split_c, tree_files

PREFIX = "ws_"
# The only files with state of the process: the budget of spinners, the thread's own pointers; what the CPU's
# pause takes; all that fibers share; LTTng's provider, once it is loaded; the lock that forks wait for.
# ws_tsan.c: addresses that nothing is written to.
STATEFUL = (
    "ws_process.c",
    "ws_relax.c",
    "ws_fiber_process.c",
    "ws_os_fork.c",
    "ws_provider.c",
    "ws_tsan.c",
)
MUTABLE = re.compile(r"^\.(?:data(?!\.rel\.ro)|bss|tdata|tbss|lbss|ldata)|^\*COM\*$")
CONSTRUCTOR = re.compile(r"^\.(?:init_array|ctors|preinit_array)")

TYPEDEF_NAME = re.compile(r"^(?:typedef\s[^;{}]*?|\}\s*)(\w+)\s*;", re.MULTILINE)
FUNCTION = re.compile(
    r"^(?!typedef\b|return\b|#)[A-Za-z_][\w \t*]*?[ *](\w+)\s*\([^;{]*\)\s*[;{]", re.MULTILINE
)
ENUM = re.compile(r"\benum\b[^{;]*\{([^}]*)\}")
ENUMERATOR = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
TIME = "time|latency|timeout|deadline|delay|period|duration|budget|lead"
TIME_FIELD = re.compile(rf"^\s+u?int\d+_t\s+((?:\w+_)?(?:{TIME})(?:_max|_min)?)\s*;", re.MULTILINE)


def check_header(path: str, raw: str) -> Iterator[Finding]:
    code = split_c(raw).code

    def finding(offset: int, rule: str, message: str) -> Finding:
        return Finding(path, line_of(code, offset), rule, message)

    for match in TYPEDEF_NAME.finditer(code):
        if not (match[1].startswith(PREFIX) and match[1].endswith("_t")):
            yield finding(match.start(1), "type", f"{match[1]}: a public type is called ws_<noun>_t")
    for match in FUNCTION.finditer(code):
        if not match[1].startswith(PREFIX):
            yield finding(
                match.start(1), "function", f"{match[1]}: a public function is called ws_<noun>_<verb>"
            )
    for body in ENUM.finditer(code):
        for match in ENUMERATOR.finditer(body[1]):
            if not match[1].startswith("WS_"):
                message = f"{match[1]}: a public constant is called WS_<NOUN>_<WHAT>"
                yield finding(body.start(1) + match.start(1), "constant", message)
    for match in MACRO.finditer(code):
        if not match[1].startswith("WS_"):
            yield finding(
                match.start(1), "constant", f"{match[1]}: a public macro is called WS_<NOUN>_<WHAT>"
            )
    for match in TIME_FIELD.finditer(code):
        yield finding(match.start(1), "unit", f"{match[1]}: a time ends in its unit, for example _ns")


def tool(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        sys.exit(f"lint_names.py: {command[0]} is not installed (Debian: binutils)")
    except subprocess.CalledProcessError as error:
        sys.exit(f"lint_names.py: {' '.join(command)}: {error.stderr.strip()}")


MEMBER = re.compile(r"^(\S+?)(?:\.o|\.obj):\s+file format", re.MULTILINE)
# objdump --syms: value, seven flag characters, section, size, name
SYMBOL = re.compile(
    r"^[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+(?:\.(?:hidden|protected)\s+)?(\S+)$", re.MULTILINE
)
SECTION = re.compile(r"^\s*\d+ (\.\S+)\s+[0-9a-f]+", re.MULTILINE)


def members(dump: str) -> Iterator[tuple[str, str]]:
    """(name of the source file, its part of objdump's output) for each member of an archive."""
    parts = MEMBER.split(dump)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def check_symbols(path: str, source: str, dump: str) -> Iterator[Finding]:
    for flags, section, name in SYMBOL.findall(dump):
        if section == "*UND*" or "d" in flags or "f" in flags:
            continue  # defined elsewhere; a section or a file
        exported = flags[0] in "gu!" or flags[1] == "w" or section == "*COM*"
        if exported and not name.startswith(PREFIX):
            yield Finding(
                path, 1, "symbol", f"{name} of {source} is external and does not begin with {PREFIX}"
            )
        if MUTABLE.match(section) and source not in STATEFUL:
            yield Finding(path, 1, "state", f"{name} of {source} is mutable data at file scope ({section})")


def check_archive(path: str, dump: str, of_pool: set[str]) -> Iterator[Finding]:
    """The members whose source lies in a room of the pool; the shim's names are OAI's."""
    for source, part in members(dump):
        if source not in of_pool:
            continue
        yield from check_symbols(path, source, part)
        for section in SECTION.findall(part):
            if CONSTRUCTOR.match(section):
                yield Finding(path, 1, "constructor", f"{source} has code that runs before main ({section})")


def check(root: Path, archives: list[Path]) -> Iterator[Finding]:
    names = tree_files(root)
    for name in names:
        if name.startswith(f"{MODULE}/include/") and name.endswith(".h"):
            yield from check_header(name, read(root / name))
    of_pool = {PurePosixPath(name).name for name in names if is_product(name)}
    for archive in archives:
        yield from check_archive(
            str(archive), tool("objdump", "--syms", "--section-headers", str(archive)), of_pool
        )


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=repo_root(), help="tree to check (default: this one)")
    parser.add_argument("--archive", type=Path, action="append", default=[], help="built libthread_pool_ws.a")
    options = parser.parse_args()
    sys.exit(report("lint_names.py", check(options.root, options.archive)))
