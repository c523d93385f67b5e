#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the module: which room may include which.

Rules: room (an include points into the same room or one below, ROOMS in lintkit.py), door (a room with doors
is entered by those headers alone), wing (a wing uses the public headers and base/; no room uses a wing),
public (public headers need only each other and the standard), private (headers of rooms stay in the module's
own sources), circle (a file and its header do not need themselves through others), stdatomic (one includer),
oai-name (shim only).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from posixpath import dirname, join, normpath

from lintkit import (
    C_SUFFIXES,
    MODULE,
    ROOMS,
    WINGS,
    Finding,
    is_product,
    line_of,
    main,
    read,
    split_c,
    tree_files,
)

# The only headers of a room that other rooms may include.
DOORS = {
    "classes": ("classes/ws_classes.h",),
    "prewake": ("prewake/ws_prewake.h",),
    "wide": ("wide/ws_wide.h", "wide/ws_inbox.h"),
}
# Wings are written against the public headers; of the rooms they use only this one.
BELOW_WINGS = "base"
# Headers of a room above that a room may include all the same.
UPWARD = {
    ("prewake", "sleep/ws_budget.h"),
    *((room, door) for room in ("tasks", "pool", "sleep", "core") for door in DOORS["wide"]),
}
STDATOMIC_INCLUDER = "base/ws_atomic.h"
# Models are programs of their own, for a checker of the C11 memory model. Examples are programs of users.
# OAI's callers get stdatomic through the header of its pool that the shim's stands for.
STDATOMIC_FREE = ("tests/model/*", "tests/host/*", "shim/*/task_ans.h", "api/examples/*")
# The suite that runs on OAI's pool and on ours speaks OAI's language, and so do the stand-ins for its tree.
# The interfaces of other pools have names of their own.
OAI_FREE = ("shim/*", "tests/contract/*", "tests/host/*", "tests/shim/*", "tests/sim/explore/shim/*",
            "api/*")  # fmt: skip
OAI_NAMES = re.compile(
    r"\b(?:(?:push|pull|tryPull|abort|init|initNamed|initFloatingCores)Tpool\w*|tpool_\w+"
    r"|\w*[nN]otifiedFIFO\w*|\w*notified_fifo\w*|(?:\w+_)?task_ans(?:_t)?|threadPool)\b"
)
STANDARD = re.compile(r"<(?:std\w+|c\w+|inttypes|limits|float|errno|string|time|assert)(?:\.h)?>")
# What .hpp headers may include besides.
STANDARD_CXX = re.compile(
    r"<(?:atomic|condition_variable|coroutine|exception|functional|future|iterator|memory|mutex|new|optional"
    r"|stop_token|system_error|thread|type_traits|utility|vector)>"
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.MULTILINE)


def room_of(name: str) -> str | None:
    """The room or wing that a file lies in; None: in the shim, a test, or among the public headers."""
    return name.split("/", 1)[0] if is_product(f"{MODULE}/{name}") else None


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def resolve(includer: str, target: str, files: set[str]) -> str | None:
    """The file of the module that an include names: beside the includer, by its path, or a public one."""
    beside = normpath(join(dirname(includer), target))
    candidates = (beside, target, target.removeprefix(f"{MODULE}/"), f"include/{target}")
    return next((name for name in candidates if name in files), None)


def check_rooms(name: str, found: str) -> Iterator[tuple[str, str]]:
    """Two files of the pool, in different rooms."""
    here, there = room_of(name), room_of(found)
    if here is None or there is None or here == there:
        return
    if there in WINGS:
        yield "wing", f"{here}/ includes {found}, but no room uses a wing"
    elif here in WINGS and there != BELOW_WINGS:
        yield ("wing", f"{here}/ includes {found}; a wing uses the public headers and {BELOW_WINGS}/")
    elif here in ROOMS and ROOMS.index(there) > ROOMS.index(here) and (here, found) not in UPWARD:
        yield "room", f"{here}/ includes {found} of {there}/, a room above it"
    if found not in DOORS.get(there, (found,)):
        yield "door", f"{found} is {there}/'s own; other rooms include {' or '.join(DOORS[there])}"


def check_include(name: str, target: str, found: str | None) -> Iterator[tuple[str, str]]:
    """(rule, message) for each rule that one include breaks."""
    public = found is not None and found.startswith("include/")
    if target[1:-1] == "stdatomic.h" and name != STDATOMIC_INCLUDER and not matches(name, STDATOMIC_FREE):
        yield ("stdatomic", f"only {STDATOMIC_INCLUDER} includes <stdatomic.h>; use its wrappers")
    if name.startswith("include/"):
        standard = STANDARD.fullmatch(target) or (name.endswith(".hpp") and STANDARD_CXX.fullmatch(target))
        if not public and not standard:
            yield ("public", f"a public header includes public and standard headers only, not {target}")
    elif found is not None and not public:
        if room_of(found) and room_of(name) is None and "tests/" not in name:
            yield ("private", f"{found} is private to the pool; include a header of include/")
        yield from check_rooms(name, found)


def unit_of(name: str) -> str:
    """A .c file and its header are one, a .hpp file beside them is not."""
    return name if name.endswith(".hpp") else name.rpartition(".")[0]


def check(root: Path) -> Iterator[Finding]:
    prefix = f"{MODULE}/"
    names = [name.removeprefix(prefix) for name in tree_files(root) if name.startswith(prefix)]
    sources = {name for name in names if name.endswith(C_SUFFIXES)}
    needs: dict[str, set[str]] = {}
    for name in sorted(sources):
        raw = read(root / MODULE / name)
        code = split_c(raw).code
        for include in INCLUDE.finditer(code):
            found = resolve(name, include[1][1:-1], sources)
            for rule, message in check_include(name, include[1], found):
                yield Finding(prefix + name, line_of(code, include.start(1)), rule, message)
            if found is not None and "tests/" not in name and unit_of(found) != unit_of(name):
                needs.setdefault(unit_of(name), set()).add(unit_of(found))
        for word in () if matches(name, OAI_FREE) else OAI_NAMES.finditer(raw):
            message = f"{word[0]} is OAI's name; it belongs in shim/"
            yield Finding(prefix + name, line_of(raw, word.start()), "oai-name", message)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        yield Finding(prefix + error.args[1][0], 1, "circle", " needs ".join(reversed(error.args[1])))


if __name__ == "__main__":
    sys.exit(main(check))
