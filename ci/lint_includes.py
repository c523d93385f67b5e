#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each C and C++ file includes the headers of the names that stand in it, and no others.

Rules: missing (foo.c also has what foo.h includes; a header hands on the includes that are marked "IWYU
pragma: export"), unused, compiles (each file alone, headers too), exceptions (EXCEPTIONS and the lines that
are marked "IWYU pragma: keep" are ten at most).

clang-include-cleaner finds what a file names; ci/includes.txt has the headers that it names otherwise than
programs do. It gets the flags of build-ci/lint, which step 10-lint configures; what is not built there gets
those of a source that includes it. Not looked at: OAI's model, the examples of the patches, sources for a
library that is not installed.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from os.path import basename, splitext
from pathlib import Path

from lintkit import C_SUFFIXES, MODULE, Finding, line_of, main, read, repo_root, tree_files

BUILD = "build-ci/lint/compile_commands.json"
NOT_OURS = ("ci/oai_model/", "openair1_patches/tests/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]+[>"])(?:.*IWYU pragma: (\w+))?', re.MULTILINE)
# Else the cleaner, which asks for no warnings, passes over a call of a function that C has no declaration of.
UNDECLARED = '#pragma clang diagnostic error "-Wimplicit-function-declaration"'
PUBLIC = [line.split() for line in read(repo_root() / "ci/includes.txt").splitlines() if line[0] != "#"]
EXCEPTIONS = (
    r"shim/oai_.*/common/|tests/host/|sim/explore/shim/host/",  # stand for OAI's headers: hand all on
    r"tests/model/(handover|inbox|loose)\.c",  # the model checker declares what they call
    r"tests/tsan/race\.c",  # its build, which has no headers for clang-tidy, defines what it names
    r"backends/(team|mutex_pool)\.h",  # who includes them has defined what they use
)


def key(header: str) -> str:
    """A header's name here: of this project without its folder, of the system as programs have it."""
    if header[0] == '"':
        return basename(header[1:-1])
    parts = (
        re.sub(part, public, header[1:-1]) for part, public in PUBLIC if re.fullmatch(part, header[1:-1])
    )
    return next(parts, header[1:-1])


def brought(headers: set[str], given: dict[str, set[str]]) -> set[str]:
    """These, and what they hand on."""
    more = headers.union(*(given.get(header, ()) for header in headers))
    return more if more == headers else brought(more, given)


def check(root: Path) -> Iterator[Finding]:
    texts = {name: read(root / name) for name in tree_files(root) if name.endswith(C_SUFFIXES)}
    found = {name: list(INCLUDE.finditer(texts[name])) for name in texts if not name.startswith(NOT_OURS)}
    lines = {name: {key(one[1]): line_of(texts[name], one.start(1)) for one in found[name]} for name in found}
    excepted = {name for name in found if re.search("|".join(EXCEPTIONS), name)}
    given: dict[str, set[str]] = {}
    for name in found:
        handed = {key(one[1]) for one in found[name] if one[2] == "export" or name in excepted}
        given.setdefault(basename(name), set()).update(handed)
    kept = [name for name in found for one in found[name] if one[2] == "keep"]
    if len(EXCEPTIONS) + len(kept) > 10:
        yield Finding(kept[0], 1, "exceptions", f"{len(kept)} lines are marked keep: mend one")
    built: dict[str, list[str]] = {}
    for entry in json.loads(read(root / BUILD)):
        words = shlex.split(entry["command"])
        built.setdefault(entry["file"].removeprefix(f"{root}/"), words[1 : words.index("-o")])

    def examine(name: str) -> subprocess.CompletedProcess[str]:
        end, language, standard = ("pp", "c++", "c++20") if name.endswith("pp") else (".c", "c", "gnu11")
        users = (built[one] for one in built if one.endswith(end) and basename(name) in lines.get(one, ()))
        flags = [*(built.get(name) or next(users, [f"-std={standard}"])), f"-x{language}", "-D_GNU_SOURCE"]
        flags += ["-include/dev/stdin", *(f"-I{root}/{MODULE}/{room}" for room in (".", "include", "api"))]
        command = ["clang-include-cleaner", "--print=changes", root / name, "--", *flags]
        return subprocess.run(command, input=UNDECLARED, capture_output=True, text=True, check=False)

    names = sorted(found.keys() - excepted)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(examine, names))
    for name, run in zip(names, results, strict=True):
        error = re.search("error: ('(.*)' file not found|[^;\n]*)", run.stderr)
        if error and error[2] and basename(error[2]) not in given:
            continue
        if error:
            yield Finding(name, 1, "compiles", error[1])
        changes = [(one[0], key(one[2:])) for one in re.findall(r"^[+-] \S+", run.stdout, re.MULTILINE)]
        own = (lines.get(splitext(name)[0] + suffix, ()) for suffix in (".h", ".hpp"))
        used = {header for mark, header in changes if mark == "+"}
        for header in used - brought({basename(name)}.union(lines[name], *own), given):
            yield Finding(name, 1, "missing", f"names something of {header}, and does not include it")
        for header, line in lines[name].items():
            if ("-", header) in changes and not brought({header}, given) & used:
                yield Finding(name, line, "unused", f"names nothing of {header}")


if __name__ == "__main__":
    sys.exit(main(check))
