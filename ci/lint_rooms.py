#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the module, which room may include which; and circles of files, in nr_ulsim_bench and ci too.

Rules: room (an include points into the same room or one below, ROOMS in lintkit.py), door (a room with doors
is entered by those headers alone), wing (a wing uses the public headers and base/; no room uses a wing),
public (public headers need only each other and the standard), private (headers of rooms stay in the module's
own sources), member (the members of some structures belong to a few files, PRIVATE), circle (no file needs
itself through others), stdatomic (one includer), oai-name (shim only).

A C file needs what it includes, and the .c file that alone defines a name which it uses, wherever that is
declared; a .c file and its header are one. A header outside the rooms needs only what it includes: libraries
define what it calls. A Python module needs what it imports, in functions too, unless for a type checker. Not
looked at: tests, examples, calls into C++, scripts without a suffix.
"""

import ast
import re
import sys
from collections.abc import Container, Iterator
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
    "page": ("page/ws_page.h",),
    "prewake": ("prewake/ws_prewake.h",),
    "record": ("record/ws_flight.h", "record/ws_held_file.h"),
    "wide": ("wide/ws_wide.h",),
}
# Wings are written against the public headers; of the rooms they use only this one.
BELOW_WINGS = "base"
# Headers of a room above that a room may include all the same.
UPWARD = {
    ("prewake", "sleep/ws_budget.h"),
    ("prewake", "sleep/ws_cap.h"),
    ("sleep", "wide/ws_wide.h"),
    ("core", "wide/ws_wide.h"),
}
# What opens a structure, or names a member, and the files that may: other rooms ask by functions.
PRIVATE = {
    r"\bws_sleep_(?:pool|worker)\(": ("sleep/*",),
    r"\bnear\.": ("pool/ws_near.[ch]", "sleep/*", "prewake/*", "wide/*", "classes/*"),
    r"\boutbox\.|\bws_outbox_t\b": ("tasks/ws_tasks.h", "tasks/ws_inbox.[ch]"),
    r"\bsummary_bit\.|\bws_summary_bit_t\b": ("tasks/ws_tasks.h", "tasks/ws_summary.h"),
    r"\bthief\.|\bws_thief_t\b": ("tasks/ws_tasks.h", "core/ws_steal.c", "wide/ws_dispatch.c"),
    r"\bround\.": ("core/*",),
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
BENCH = "nr_ulsim_bench"
# At the left margin: a definition (what stands before the name, the name); what only names a name.
DEFINED = re.compile(r"^(\w[^;{}=#]*?)\b(\w+)(?:\([^;{}#]*\)\s*\{|(?:\[[^;\n]*\])*(?: =|;))", re.MULTILINE)
DECLARED = re.compile(r"^(?:\w[^;{}=]*;|#[ \t]*define \w+)", re.MULTILINE)
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*")
TYPE_CHECKED = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t].*\n)+", re.MULTILINE)
HOME = re.compile(r"(?<!_null)\.c$")  # what links in place of a plug-in is not where its names are defined
USED = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")  # no member
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.MULTILINE)


def room_of(name: str) -> str | None:
    """The room or wing that a file lies in; None: in the shim, a test, or among the public headers."""
    return name.split("/", 1)[0] if is_product(f"{MODULE}/{name}") else None


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def resolve(includer: str, target: str, files: Container[str]) -> str | None:
    """The file that an include names: beside the includer, by its path, or of a folder for all."""
    beside = normpath(join(dirname(includer), target))
    candidates = (beside, target, target.removeprefix(f"{MODULE}/"), f"include/{target}", f"src/{target}")
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
    """A .c file and its header are one, and a .cpp file and its .hpp file beside them."""
    stem, _, suffix = name.replace("/private/", "/").rpartition(".")
    return name if suffix == "hpp" else f"{stem}.hpp" if suffix in ("cc", "cpp") else stem


def c_needs(house: str, texts: dict[str, str]) -> dict[str, set[str]]:
    """What each unit needs. A name is first looked up among the statics of its own file."""
    texts = {name: ATTRIBUTE.sub("", split_c(text).code) for name, text in texts.items()}
    homes: dict[str, list[str]] = {}
    for name, code in texts.items():
        for before, word in DEFINED.findall(code):
            if not {"static", "extern", "typedef"} & set(before.split()) and HOME.search(name):
                homes.setdefault(word, []).append(name)
    needs: dict[str, set[str]] = {unit_of(name): set() for name in texts}
    for name, code in texts.items():
        found = {resolve(name, include[1][1:-1], texts) for include in INCLUDE.finditer(code)}
        if name.endswith(".c") or house == BENCH or room_of(name):
            own = {word for before, word in DEFINED.findall(code) if "static" in before.split()}
            words = set(USED.findall(DECLARED.sub("", code))) - own
            found |= {homes[word][0] for word in words if len(homes.get(word, ())) == 1}
        needs[unit_of(name)] |= {unit_of(one) for one in found if one}
    return needs


def python_needs(texts: dict[str, str]) -> dict[str, set[str]]:
    modules = {name.removesuffix(".py").removesuffix("/__init__"): text for name, text in texts.items()}
    needs = {}
    for module, text in modules.items():
        nodes = ast.walk(ast.parse(TYPE_CHECKED.sub("", text)))
        imports = [one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom))]
        dotted = [f"{getattr(one, 'module', '')}.{name.name}" for one in imports for name in one.names]
        names = [name.strip(".").replace(".", "/") for name in dotted]
        needs[module] = {name if name in modules else dirname(name) for name in names} & modules.keys()
    return needs


def check_circles(house: str, texts: dict[str, str]) -> Iterator[Finding]:
    c = {name: text for name, text in texts.items() if name.endswith(C_SUFFIXES)}
    for needs in (c_needs(house, c), python_needs({name: texts[name] for name in texts.keys() - c})):
        try:
            TopologicalSorter({one: sorted(needs[one] - {one}) for one in sorted(needs)}).prepare()
        except CycleError as error:
            yield Finding(f"{house}/{error.args[1][-1]}", 1, "circle", " needs ".join(error.args[1][::-1]))


def check(root: Path) -> Iterator[Finding]:
    every = tree_files(root)
    rooms = [name for name in every if not re.search("/(tests|examples)/", name)]
    for house in (MODULE, BENCH, "ci"):
        inside = [name for name in rooms if re.match(rf"{house}/.*\.(c|h|cc|cpp|hpp|py)$", name)]
        yield from check_circles(house, {name[len(house) + 1 :]: read(root / name) for name in inside})
    prefix = f"{MODULE}/"
    names = [name.removeprefix(prefix) for name in every if name.startswith(prefix)]
    sources = {name for name in names if name.endswith(C_SUFFIXES)}
    for name in sorted(sources):
        raw = read(root / MODULE / name)
        code = split_c(raw).code
        for include in INCLUDE.finditer(code):
            found = resolve(name, include[1][1:-1], sources)
            for rule, message in check_include(name, include[1], found):
                yield Finding(prefix + name, line_of(code, include.start(1)), rule, message)
        for pattern, files in PRIVATE.items() if room_of(name) else ():
            for found in () if matches(name, files) else re.finditer(pattern, code):
                message = f"{found[0]} is for {' and '.join(files)} only; use a function"
                yield Finding(prefix + name, line_of(code, found.start()), "member", message)
        for word in () if matches(name, OAI_FREE) else OAI_NAMES.finditer(raw):
            message = f"{word[0]} is OAI's name; it belongs in shim/"
            yield Finding(prefix + name, line_of(raw, word.start()), "oai-name", message)


if __name__ == "__main__":
    sys.exit(main(check))
