# SPDX-License-Identifier: BSD-3-Clause
"""An OAI tree as its CMake files describe it: what they ask for, which sources they list, which pool API the
headers have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path

from preflight.cmake_text import Command, commands, expand

POOL = Path("common", "utils", "threadPool")
POOL_TARGETS = ("thread-pool", "UTIL")
POOL_FILES = ("thread-pool.c", "task_ans.c")
KEYWORDS = ("STATIC", "SHARED", "MODULE", "OBJECT", "INTERFACE", "PUBLIC", "PRIVATE", "EXCLUDE_FROM_ALL")
TO_BUILD = ("nr-softmodem", "nr-uesoftmodem", "nr_ulsim", "nr_dlsim",
            "ldpc", "dfts", "params_libconfig", "params_yaml", "rfsimulator", "vrtsim")  # fmt: skip
# Where build_oai -I refuses a Debian or Ubuntu: what OAI v2.3.0 needs of it, and its asn1c to be built.
ALL_PACKAGES = tuple(
    "automake bison build-essential ca-certificates cmake flex git libblas-dev libconfig-dev liblapacke-dev "
    "libsctp-dev libssl-dev libtool libyaml-cpp-dev ninja-build pkg-config xxd zlib1g-dev".split()
)
SOURCE = re.compile(r"\.(c|cc|cpp|cxx|h|hpp)$")


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def cached(build_dir: Path, name: str) -> str | None:
    """A variable of a build folder's cache."""
    found = re.search(rf"^{name}:\w+=(.+)$", read(build_dir / "CMakeCache.txt"), re.MULTILINE)
    return found[1] if found else None


def header_has(path: Path, word: str) -> bool:
    return bool(re.search(rf"(^|[^A-Za-z0-9_]){word}", read(path), re.MULTILINE))


def api_shape(pool: Path) -> str | None:
    """A, B1, B2 or B2+, as cmake_targets/thread_pool_ws_shape.cmake tells it; None: an unknown API."""
    header, answers = pool / "thread-pool.h", pool / "task_ans.h"
    if not header_has(header, "pushTpool"):
        return None
    if not (pool / "notified_fifo.h").exists():
        return "A" if header_has(header, "notifiedFIFO_elt_t") else None
    if not header_has(answers, "join_task_ans"):
        return None
    if not header_has(answers, "init_task_ans"):
        return "B1"
    return "B2+" if header_has(header, "get_tpool_worker_index") else "B2"


@dataclass(frozen=True)
class Located:
    """A command of one of the tree's files. Its conditions include those under which the file is read."""

    command: Command
    file: Path
    folder: Path  # to which relative sources refer
    conditions: tuple[str, ...]


@dataclass
class Tree:
    root: Path
    found: list[Located] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    entered: set[Path] = field(default_factory=set)

    def enter(self, file: Path, folder: Path, conditions: tuple[str, ...] = ()) -> None:
        """Reads a file and those that it includes or adds. Variables hold what unconditional set()s give."""
        if file in self.entered or not file.is_file():
            return
        self.entered.add(file)
        for command in commands(read(file)):
            places = {"CMAKE_CURRENT_SOURCE_DIR": str(folder), "CMAKE_CURRENT_LIST_DIR": str(file.parent)}
            self.variables.update(places)
            here = Located(command, file, folder, conditions + command.conditions)
            self.found.append(here)
            self.assign(command, here.conditions)
            if command.name in ("add_subdirectory", "include") and command.args:
                self.follow(here)

    def follow(self, here: Located) -> None:
        target = here.folder / self.expand(here.command.args[0])
        if here.command.name == "add_subdirectory":
            self.enter(target / "CMakeLists.txt", target, here.conditions)
        else:
            self.enter(target, here.folder, here.conditions)

    def assign(self, command: Command, conditions: tuple[str, ...]) -> None:
        if command.name == "set" and command.args and not conditions:
            values = command.args[1:]
            if "CACHE" in values:
                values = values[: values.index("CACHE")]
            self.variables[command.args[0]] = self.expand(";".join(values))
        elif command.name == "list" and command.args[:1] == ("APPEND",) and len(command.args) > 1:
            name, values = command.args[1], command.args[2:]
            old = self.variables.get(name)
            self.variables[name] = ";".join([old] * bool(old) + [self.expand(value) for value in values])

    def expand(self, text: str) -> str:
        return expand(text, self.variables)

    def names(self, args: tuple[str, ...]) -> list[str]:
        return [name for arg in args for name in self.expand(arg).split(";")]

    def each(self, *names: str) -> Iterator[Located]:
        return (here for here in self.found if here.command.name in names)

    def targets(self) -> set[str]:
        named = self.each("add_library", "add_executable", "add_custom_target")
        return {here.command.args[0] for here in named if here.command.args}

    def targets_to_build(self) -> list[str]:
        """The programs of 5G, and what they load when they run, which no program depends on in CMake."""
        return [name for name in TO_BUILD if name in self.targets()]

    def sources(self, here: Located) -> list[Path]:
        """Of an add_library or add_executable; without those whose names cannot be told from the files."""
        if not {"ALIAS", "IMPORTED", "INTERFACE"}.isdisjoint(here.command.args):
            return []
        self.variables["CMAKE_CURRENT_SOURCE_DIR"] = str(here.folder)
        names = (name for name in self.names(here.command.args[1:]) if SOURCE.search(name))
        return [Path(normpath(here.folder / name)) for name in names if "$" not in name]

    def pool_targets(self) -> dict[str, list[Path]]:
        """The targets that compile OAI's pool, and its files there."""
        holders = {}
        for here in self.each("add_library"):
            if here.command.args and here.command.args[0] in POOL_TARGETS:
                files = [source for source in self.sources(here) if source.name in POOL_FILES]
                if files:
                    holders[here.command.args[0]] = files
        return holders


def read_tree(root: Path) -> Tree | None:
    """None: not the top of an OAI tree."""
    top = root / "CMakeLists.txt"
    top_names = ("CMAKE_SOURCE_DIR", "PROJECT_SOURCE_DIR", "OpenAirInterface_SOURCE_DIR")
    tree = Tree(root, variables=dict.fromkeys(top_names, str(root)))
    tree.enter(top, root)
    projects = [here.command.args[:1] for here in tree.each("project")]
    return tree if ("OpenAirInterface",) in projects else None
