#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Includes of the module point down the table of layers, and each rule about who may know whom holds.

Rules: layer (an include points down or sideways), row (a core file stands in the table), public (public
headers need only each other and the standard), private (core headers stay in core), stdatomic (one includer),
oai-name (shim only).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import normpath

from lintkit import C_SUFFIXES, MODULE, CText, Finding, line_of, main, read, split_c, tree_files

# From top to bottom. A pattern is matched against the path inside the module without its suffix, so a .c file
# stands beside its header. Public headers (include/) are not in it: they are pure interface, and anybody may
# include them.
PREWAKE = ("prewake/ws_prewake*", "prewake/ws_rhythm*", "prewake/ws_level*", "sleep/ws_watch*")
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("shim", ("shim/*",)),
    ("pool, start", ("setup/ws_pool*", "setup/ws_start*")),
    ("worker", ("core/ws_worker*",)),
    ("push, join, wait", ("core/ws_push*", "core/ws_join*", "core/ws_wait*")),
    ("stats, report", ("observe/ws_stats*", "observe/ws_report*")),
    ("guard, spin, hint", ("sleep/ws_guard*", "sleep/ws_spin*", "sleep/ws_hint*")),
    (
        "dig, find, helper, hot, inbox, park, place, run, survive",
        (
            *("core/ws_dig*", "core/ws_find*", "sleep/ws_helper*", "sleep/ws_hot*", "pool/ws_inbox*"),
            *("sleep/ws_park*", "sleep/ws_place*", "core/ws_run*", "core/ws_survive*", *PREWAKE),
        ),
    ),
    ("lane, search", ("pool/ws_lane*", "sleep/ws_search*")),
    ("process, traced", ("pool/ws_process*", "trace/ws_traced*")),
    ("near, topo, settings", ("pool/ws_near*", "setup/ws_topo*", "setup/ws_settings*", "setup/ws_config*")),
    ("types", ("pool/ws_types*",)),
    ("deque, shared queue, group", ("queue/ws_deque*", "queue/ws_shared*", "core/ws_group*")),
    ("os, relax, trace", ("os/ws_os*", "os/ws_relax*", "trace/*")),
    ("lead", ("prewake/ws_lead*",)),
    ("predict", ("prewake/ws_predict*",)),
    ("histogram, period, window", ("base/ws_histogram*", "prewake/ws_period*", "base/ws_window*")),
    ("atomic, base", ("base/ws_atomic*", "base/ws_base*", "core/ws_assert*")),
)
STDATOMIC_INCLUDER = "base/ws_atomic.h"
# Models are programs of their own, written for a checker of the C11 memory model. OAI's callers get stdatomic
# through the header of its pool that the shim's stands for.
STDATOMIC_FREE = ("tests/model/*", "tests/host/*", "shim/*/task_ans.h")
# The suite that runs on OAI's pool and on ours speaks OAI's language, and so do the stand-ins for its tree.
OAI_FREE = ("shim/*", "tests/contract/*", "tests/host/*", "tests/shim/*", "tests/sim/explore/shim/*")
OAI_NAMES = re.compile(
    r"\b(?:(?:push|pull|tryPull|abort|init|initNamed|initFloatingCores)Tpool\w*|tpool_\w+"
    r"|\w*[nN]otifiedFIFO\w*|\w*notified_fifo\w*|(?:\w+_)?task_ans(?:_t)?|threadPool)\b"
)
STANDARD = re.compile(r"<(?:std\w+|c\w+|inttypes|limits|float|errno|string|time|assert)(?:\.h)?>")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.MULTILINE)


def layer_of(name: str) -> int | None:
    stem = str(Path(name).with_suffix(""))
    for index, (_, patterns) in enumerate(LAYERS):
        if any(fnmatchcase(stem, pattern) for pattern in patterns):
            return index
    return None


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def resolve(includer: str, target: str, files: set[str]) -> str | None:
    """The file of the module that an include names: beside the includer, or by its path."""
    beside = normpath((Path(includer).parent / target).as_posix())
    for candidate in (
        beside,
        target,
        target.removeprefix(f"{MODULE}/"),
        f"include/{target}",
        f"core/{target}",
    ):
        if candidate in files:
            return candidate
    return None


def check_include(name: str, target: str, files: set[str]) -> Iterator[tuple[str, str]]:
    """(rule, message) for each rule that one include breaks."""
    spelled, found = target[1:-1], resolve(name, target[1:-1], files)
    if spelled == "stdatomic.h" and name != STDATOMIC_INCLUDER and not matches(name, STDATOMIC_FREE):
        yield "stdatomic", f"only {STDATOMIC_INCLUDER} includes <stdatomic.h>; use its wrappers"
    if name.startswith("include/"):
        public = found is not None and found.startswith("include/")
        if not public and not STANDARD.fullmatch(target):
            yield "public", f"a public header includes public and standard headers only, not {target}"
        return
    if found is None or found.startswith("include/"):
        return
    if found.startswith("core/") and not name.startswith(("core/", "tests/", "trace/")):
        yield "private", f"{found} is private to core/; include a header of include/"
        return
    from_layer, to_layer = layer_of(name), layer_of(found)
    if from_layer is not None and to_layer is not None and to_layer < from_layer:
        below, above = LAYERS[from_layer][0], LAYERS[to_layer][0]
        yield "layer", f'"{below}" includes {found} of "{above}", a layer above it'


def check_file(name: str, text: CText, raw: str, files: set[str]) -> Iterator[Finding]:
    path = f"{MODULE}/{name}"
    if name.startswith("core/") and layer_of(name) is None:
        yield Finding(path, 1, "row", "no row of LAYERS in ci/lint_layers.py names this file")
    for include in INCLUDE.finditer(text.code):
        for rule, message in check_include(name, include[1], files):
            yield Finding(path, line_of(text.code, include.start(1)), rule, message)
    if matches(name, OAI_FREE):
        return
    for word in OAI_NAMES.finditer(raw):
        yield Finding(
            path, line_of(raw, word.start()), "oai-name", f"{word[0]} is OAI's name; it belongs in shim/"
        )


def check(root: Path) -> Iterator[Finding]:
    prefix = f"{MODULE}/"
    names = [name.removeprefix(prefix) for name in tree_files(root) if name.startswith(prefix)]
    sources = {name for name in names if name.endswith(C_SUFFIXES)}
    for name in sorted(sources):
        raw = read(root / MODULE / name)
        yield from check_file(name, split_c(raw), raw, sources)


if __name__ == "__main__":
    sys.exit(main(__doc__, check))
