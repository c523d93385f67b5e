#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every event of trace/ws_tp.h, and no other, is a USDT probe with as many arguments of the same widths and
signs, in each of the given files: an archive, a module or a program built with WS_USDT."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path

from lintkit import MODULE, read, repo_root, split_c

HEADER = f"{MODULE}/trace/ws_tp.h"
PROVIDER = "oai_tpool_ws"
# Bytes as sys/sdt.h notes them, negative = signed.
WIDTHS = {"uint32_t": "4", "int32_t": "-4", "uint64_t": "8", "uintptr_t": "8", "const char *": "8"}

# Events and instances of a class, whose own definition begins with ..._EVENT_CLASS.
EVENT = re.compile(
    r"LTTNG_UST_TRACEPOINT_EVENT(?:_INSTANCE)?\(([\w\s,]+?),\s*LTTNG_UST_TP_ARGS\(([^)]*)\)", re.DOTALL
)
NOTE = re.compile(r"^\s+Provider: (\w+)\n\s+Name: (\w+)\n[^\n]*\n\s+Arguments:([^\n]*)$", re.MULTILINE)
WIDTH = re.compile(r"(?:^|\s)(-?\d)@")

Probes = dict[str, list[tuple[str, ...]]]  # event -> widths at each place that makes it


def events(header: str) -> dict[str, tuple[str, ...]]:
    """Name and widths of the fields of each event."""
    found = {}
    for names, args in EVENT.findall(split_c(header).code):
        words = [" ".join(word.split()) for word in args.split(",")]
        found[re.findall(r"\w+", names)[-1]] = tuple(WIDTHS[kind] for kind in words[::2])
    return found


def probes(notes: str) -> Probes:
    """Those of the provider, from the text of readelf --notes."""
    found: Probes = {}
    for provider, name, arguments in NOTE.findall(notes):
        if provider == PROVIDER:
            found.setdefault(name, []).append(tuple(WIDTH.findall(arguments)))
    return found


def differences(wanted: dict[str, tuple[str, ...]], have: Probes) -> Iterator[str]:
    for name in sorted(wanted.keys() | have.keys()):
        if name not in have:
            yield f"{name}: no probe"
        elif name not in wanted:
            yield f"{name}: a probe that {HEADER} does not list"
        else:
            wrong = sorted(set(have[name]) - {wanted[name]})
            yield from (f"{name}: arguments {' '.join(w)}, {' '.join(wanted[name])} wanted" for w in wrong)


def notes_of(path: Path) -> str:
    command = ["readelf", "--notes", str(path)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C"}
    ).stdout


def check(wanted: dict[str, tuple[str, ...]], files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        for difference in differences(wanted, probes(notes_of(path))):
            yield f"{path.name}: {difference}"


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="+", type=Path)
    wanted = events(read(repo_root() / HEADER))
    found = list(check(wanted, parser.parse_args().file))
    for message in found:
        print(message)
    print(f"check_usdt.py: {len(wanted)} events, {len(found)} findings")
    return 1 if found or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
