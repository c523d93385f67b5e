#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each C and C++ file includes the headers of the names that stand in it, and no others.

Rules: missing (foo.c also has what foo.h includes; a header hands on the includes that are marked "IWYU
pragma: export"), unused, compiles (each file alone, headers too), exceptions (EXCEPTIONS and the lines that
are marked "IWYU pragma: keep" are ten at most).

clang-include-cleaner finds what a file names. It gets the flags of build-ci/lint, which step 10-lint
configures; a file that is not built there gets -I and -D of the source that includes it, or of the nearest.
Not looked at: OAI's model, the examples of the patches, sources for a library that is not installed.
"""

import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os.path import basename, commonprefix, splitext
from pathlib import Path

from lintkit import C_SUFFIXES, MODULE, Finding, line_of, main, read, tree_files

BUILD = "build-ci/lint/compile_commands.json"
NOT_OURS = ("ci/oai_model/", "openair1_patches/tests/")
INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")(?:.*IWYU pragma: (\w+))?', re.MULTILINE
)
# Headers that programs do not include, and those that stand for them.
PUBLIC = {
    "asm-generic/errno(-base)?.h": "errno.h",
    "asm-generic/socket.h": "sys/socket.h",
    "bits/chrono.h": "chrono",
    "bits/getopt_(core|ext).h": "getopt.h",
    "bits/pthreadtypes.h": "pthread.h",
    "bits/(time|types/(clockid_t|timer_t|struct_itimerspec)).h": "time.h",
    "bits/types/(sigset_t|siginfo_t|sigevent_t|stack_t).h": "signal.h",
    "bits/types/struct_rusage.h": "sys/resource.h",
    "bits/types/struct_sched_param.h": "sched.h",
    "linux/bpf_common.h": "linux/filter.h",
    "linux/limits.h": "limits.h",
    "linux/prctl.h": "sys/prctl.h",
    "sys/poll.h": "poll.h",
    "(CUnit)/.*": r"\1/Basic.h",
    "(boost/fiber)/.*": r"\1/all.hpp",
    "(boost/.*)/impl/(.*)": r"\1/\2",
    "(?:unsupported/)?Eigen/.*": "unsupported/Eigen/CXX11/ThreadPool",
    "glibconfig.h": "glib.h",
    "oneapi/(tbb/.*)": r"\1",
    "uv/version.h": "uv.h",
}
# Headers that hand on all that they include, used or not.
EXCEPTIONS = {
    r"shim/oai_.*/common/|tests/host/|tests/sim/explore/shim/host/": "they stand for OAI's headers",
    r"backends/(team|mutex_pool)\.h": "who includes them has defined what they use",
}
EXCEPTIONS_MAX = 10


def key(header: str) -> str:
    """What a header is called here: one of this project by its name, one of the system as programs do."""
    name = header[1:-1]
    if header[0] == '"':
        return basename(name)
    found = ((part, public) for part, public in PUBLIC.items() if re.fullmatch(part, name))
    return re.sub(*next(found, ("", "")), name)


class Includes:
    """Which headers each file includes, where, and which headers each of them hands on."""

    def __init__(self, root: Path, names: list[str]) -> None:
        self.lines: dict[str, dict[str, int]] = {}
        self.given: dict[str, set[str]] = defaultdict(set)
        self.kept = 0
        for name in names:
            text = read(root / name)
            found = list(INCLUDE.finditer(text))
            self.lines[name] = {key(one[1]): line_of(text, one.start(1)) for one in found}
            self.given[basename(name)] |= {
                key(one[1]) for one in found if one[2] == "export" or is_exception(name)
            }
            self.kept += sum(one[2] == "keep" for one in found)

    def brought(self, headers: set[str]) -> set[str]:
        """These, and what they hand on."""
        more = headers.union(*(self.given.get(header, ()) for header in headers))
        return more if more == headers else self.brought(more)

    def of(self, name: str) -> set[str]:
        files = (name, f"{splitext(name)[0]}.h", f"{splitext(name)[0]}.hpp")
        return self.brought({basename(name)}.union(*(self.lines.get(one, ()) for one in files)))


def is_exception(name: str) -> bool:
    return any(re.search(part, name) for part in EXCEPTIONS)


def examine(root: Path, built: dict[str, list[str]], includes: Includes, name: str) -> tuple[str, str]:
    """What the tool prints for a file, and the first error there."""
    cxx = name.endswith("pp")
    if name in built:
        flags = built[name]
    else:
        likely = [one for one in built if one.endswith("pp") == cxx]
        lines = includes.lines
        near = max(
            likely, key=lambda one: (basename(name) in lines.get(one, ()), len(commonprefix([one, name])))
        )
        flags = [flag for flag in built[near] if re.match("-[DI]", flag)] + [
            "-std=c++20" if cxx else "-std=gnu11"
        ]
    flags = [*flags, *(f"-I{root}/{MODULE}/{folder}" for folder in (".", "include", "api"))]
    command = ["clang-include-cleaner", "--print=changes", root / name, "--", *flags, "-D_GNU_SOURCE"]
    run = subprocess.run([*command, "-xc++" if cxx else "-xc"], capture_output=True, text=True, check=False)
    return run.stdout, next(iter(re.findall("error: (.*)", run.stderr)), "")


def check(root: Path) -> Iterator[Finding]:
    names = [one for one in tree_files(root) if one.endswith(C_SUFFIXES) and not one.startswith(NOT_OURS)]
    includes = Includes(root, names)
    if len(EXCEPTIONS) + includes.kept > EXCEPTIONS_MAX:
        yield Finding(names[0], 1, "exceptions", f"{includes.kept} lines are marked keep; mend one")
    built: dict[str, list[str]] = {}
    for entry in json.loads(read(root / BUILD)):
        words = shlex.split(entry["command"])
        built.setdefault(entry["file"].removeprefix(f"{root}/"), words[1 : words.index("-o")])
    names = [name for name in names if not is_exception(name)]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(partial(examine, root, built, includes), names))
    for name, (printed, error) in zip(names, results, strict=True):
        lacks = re.match("'(.*)' file not found", error)
        if lacks and basename(lacks[1]) not in includes.given:
            continue
        if error:
            yield Finding(name, 1, "compiles", error)
        marked = [(mark, key(header)) for mark, header in re.findall(r"^([+-]) (\S+)", printed, re.MULTILINE)]
        used = {header for mark, header in marked if mark == "+"}
        for header in used - includes.of(name):
            yield Finding(name, 1, "missing", f"names something of {header}, and does not include it")
        for header, line in includes.lines[name].items():
            if ("-", header) in marked and not includes.brought({header}) & used:
                yield Finding(name, line, "unused", f"names nothing of {header}")


if __name__ == "__main__":
    sys.exit(main(check))
