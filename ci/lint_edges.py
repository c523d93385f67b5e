#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every atomic access in the rooms of the pool and in shim/ names the ordering edge of which it is a side, or
the reason why no thread relies on its order.

A site is a call of an order-named wrapper of ws_atomic.h; in shim/, whose headers OAI's files include, of a
compiler's __atomic builtin. On its line, or up to three lines above it (to the
start of a comment that begins higher up) but not beside another site, stands a comment with

    [edge NAME release|acquire|acq_rel|fence]     or     relaxed: <reason>

The relaxed wrappers whose name is the reason (ws_hint_load, ws_stat_add, ws_own_load, ...) are no sites.

Rules: tag (a site has one that fits its order), form (a tag can be read), loose (a tag has a site), sides (an
edge has a release and an acquire side), table (edges and the rows of MEMORY_MODEL.md are the same set),
raw (no atomic operation but the wrappers).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lintkit import MODULE, CText, Finding, is_product, line_of, main, read, split_c, tree_files

PUBLIC = f"{MODULE}/include/"
SHIM = f"{MODULE}/shim/"
WRAPPERS = f"{MODULE}/base/ws_atomic.h"
TABLE = f"{MODULE}/MEMORY_MODEL.md"
TABLE_CELLS = ("edge", "release site", "acquire site", "what travels", "checked by")
LINES_ABOVE = 3

SITE = re.compile(r"\b(ws_(?:load|store|cas|add|sub|or|and|xchg|fence)_\w*)\s*\(")
# Calls that order memory without an atomic access of ours; a tag may stand at them.
CARRIER = re.compile(
    r"\b(?:pthread_\w+|mtx_\w+|ws_os_\w+|syscall|munmap|mmap)\s*\(|->\s*(?:futex|thread)_?\w*\s*\("
)
BUILTIN = re.compile(r"\b(__atomic_\w+)\s*\([^;{]*?__ATOMIC_(RELAXED|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)\b")
RAW = re.compile(r"\b(?:__atomic_\w+|__sync_\w+|__c11_atomic_\w+|atomic_(?!bool|int|uint|flag\b)\w+)\s*\(")
EDGE = re.compile(r"\[edge\b([^\]]*)\]")
NAMES = r"[A-Z][A-Z0-9_]*(?:\s*[|,]\s*[A-Z][A-Z0-9_]*)*"
SIDED = re.compile(rf"\s+({NAMES})\s+(release|acquire|acq_rel|fence)\s*")
NAMED = re.compile(rf"\s+({NAMES})\s*")
RELAXED = re.compile(r"\brelaxed:[ \t]*\S[^\n]{3}")
RELAXED_WORD = "relaxed:"
ROW = re.compile(r"^\|\s*`?([A-Z][A-Z0-9_]*)`?\s*\|")

# The tags that a site's order can be: an acquire load is no release side, whatever its comment says.
FITS: dict[str, frozenset[str]] = {
    "relaxed": frozenset({"relaxed", "fence"}),
    "acquire": frozenset({"acquire", "fence"}),
    "release": frozenset({"release", "fence"}),
    "acq_rel": frozenset({"acq_rel", "acquire", "release", "fence"}),
    "seq_cst": frozenset({"acq_rel", "acquire", "release", "fence"}),
    "fence": frozenset({"fence"}),
}
RELEASES = frozenset({"release", "acq_rel", "fence"})
ACQUIRES = frozenset({"acquire", "acq_rel", "fence"})


@dataclass(frozen=True)
class Tag:
    line: int
    side: str
    names: tuple[str, ...] = ()


@dataclass
class Edges:
    """Edge name -> the places that carry a tag of it, and the side that each is."""

    sides: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)

    def add(self, path: str, tag: Tag) -> None:
        for name in tag.names:
            self.sides.setdefault(name, {})[(path, tag.line)] = tag.side


def order_of(wrapper: str) -> str:
    if wrapper.startswith("ws_fence_"):
        return "fence"
    return next((order for order in FITS if order in wrapper), "seq_cst")


def parse_tags(comments: str, path: str, sided: bool) -> tuple[list[Tag], list[Finding]]:
    """Tags of a file's comments. Public headers only name edges (@ordering); rooms may do either."""
    tags: list[Tag] = []
    findings: list[Finding] = []
    for match in EDGE.finditer(comments):
        line = line_of(comments, match.start())
        full, named = SIDED.fullmatch(match[1]), NAMED.fullmatch(match[1])
        form = full if sided and full else named
        if form is None:
            findings.append(
                Finding(path, line, "form", f"cannot read {match[0]!r}: [edge NAME release|acquire|...]")
            )
            continue
        side = full[2] if form is full and not mentioned(comments, match.start()) else ""
        tags.append(Tag(line, side, tuple(re.split(r"\s*[|,]\s*", form[1]))))
    if sided:
        tags += [Tag(line_of(comments, m.start()), "relaxed") for m in RELAXED.finditer(comments)]
    return tags, findings


def mentioned(comments: str, offset: int) -> bool:
    """Is the tag part of a reason, "relaxed: [edge X release] follows"? Then it is no side of the edge."""
    return RELAXED_WORD in comments[comments.rfind("\n", 0, offset) + 1 : offset]


@dataclass
class CoreFile:
    """A file of a room or of shim/ with its tags, and those of them that an access has claimed."""

    path: str
    text: CText
    tags: list[Tag]
    claimed: set[Tag] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.code_lines = self.text.code.split("\n")
        self.comment_lines = self.text.comments.split("\n")
        self.site_lines = {line_of(self.text.code, call.start()) for call, _ in self.sites()}

    def sites(self) -> Iterator[tuple[re.Match[str], str]]:
        """Atomic accesses, each with its order."""
        if self.path.startswith(SHIM):
            for call in BUILTIN.finditer(self.text.code):
                yield call, call[2].lower()
        else:
            for call in SITE.finditer(self.text.code):
                yield call, order_of(call[1])

    def window_start(self, line: int) -> int:
        """First line whose tags count: LINES_ABOVE higher, or where the comment there begins."""
        start = max(1, line - LINES_ABOVE)
        while start > 1 and self.is_comment(start) and self.is_comment(start - 1):
            start -= 1
        return start

    def is_comment(self, line: int) -> bool:
        return bool(self.comment_lines[line - 1].strip()) and not self.code_lines[line - 1].strip()

    def claim(self, line: int, sides: frozenset[str]) -> list[Tag]:
        """Tags that an access on a line can be, which become its own; accesses below a comment share it."""
        found = [tag for tag in self.reach(line) if tag.side in sides]
        self.claimed.update(found)
        return found

    def reach(self, line: int) -> list[Tag]:
        """Tags on the line, and those above it that do not stand at another access."""
        start = self.window_start(line)
        return [
            t
            for t in self.tags
            if start <= t.line <= line and (t.line == line or t.line not in self.site_lines)
        ]


def check_core_file(path: str, raw: str, edges: Edges) -> Iterator[Finding]:
    text = split_c(raw)
    tags, findings = parse_tags(text.comments, path, sided=True)
    yield from findings
    file = CoreFile(path, text, tags)
    for call, order in file.sites():
        line = line_of(text.code, call.start())
        if file.claim(line, FITS[order]):
            continue
        wanted = (
            "relaxed: <reason>"
            if order == "relaxed"
            else f"[edge NAME {order.replace('seq_cst', 'acq_rel')}]"
        )
        found = ", ".join(sorted({tag.side for tag in file.reach(line) if tag.side})) or "none"
        message = f"{call[1]} needs {wanted} on its line or up to {LINES_ABOVE} above; found {found}"
        yield Finding(path, line, "tag", message)
    for call in CARRIER.finditer(text.code):
        file.claim(line_of(text.code, call.start()), RELEASES | ACQUIRES)
    for tag in tags:
        if tag.names and tag.side and tag not in file.claimed:
            message = f"no access here can be the {tag.side} side of {', '.join(tag.names)}"
            yield Finding(path, tag.line, "loose", message)
        elif tag.names and tag.side:
            edges.add(path, tag)
        elif tag.side == "relaxed" and tag not in file.claimed:
            yield Finding(path, tag.line, "loose", "no relaxed access here needs this reason")
    for call in () if path.startswith(SHIM) else RAW.finditer(text.code):
        message = f"{call[0].rstrip('( ')}: use a wrapper of ws_atomic.h"
        yield Finding(path, line_of(text.code, call.start()), "raw", message)


def check_sides(edges: Edges) -> Iterator[Finding]:
    for name, places in sorted(edges.sides.items()):
        (path, line), found = min(places), set(places.values())
        if not found & RELEASES:
            yield Finding(path, line, "sides", f"edge {name} is acquired but never released")
        if not found & ACQUIRES:
            yield Finding(path, line, "sides", f"edge {name} is released but never acquired")
        if found == {"fence"} and len(places) < 2:
            yield Finding(path, line, "sides", f"edge {name} is one fence; a pair has two")


def read_table(root: Path) -> tuple[dict[str, int], list[Finding]]:
    """Edge name -> line of its row."""
    rows: dict[str, int] = {}
    findings: list[Finding] = []
    if not (root / TABLE).is_file():
        return rows, findings
    for number, line in enumerate(read(root / TABLE).split("\n"), 1):
        row = ROW.match(line)
        if row is None:
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if len(cells) != len(TABLE_CELLS) or not all(cells):
            findings.append(
                Finding(TABLE, number, "table", f"a row has the cells {', '.join(TABLE_CELLS)}, none empty")
            )
        if row[1] in rows:
            findings.append(
                Finding(TABLE, number, "table", f"second row of {row[1]}, see line {rows[row[1]]}")
            )
        rows[row[1]] = number
    return rows, findings


def check(root: Path) -> Iterator[Finding]:
    edges = Edges()
    mentioned: list[tuple[str, Tag]] = []
    for name in tree_files(root):
        if not name.endswith((".c", ".h")):
            continue
        if (is_product(name) or name.startswith(SHIM)) and name != WRAPPERS:
            yield from check_core_file(name, read(root / name), edges)
        if (is_product(name) or name.startswith((PUBLIC, SHIM))) and name != WRAPPERS:
            sided = not name.startswith(PUBLIC)
            tags, findings = parse_tags(split_c(read(root / name)).comments, name, sided)
            mentioned += [(name, tag) for tag in tags if tag.names]
            yield from findings
    yield from check_sides(edges)
    rows, findings = read_table(root)
    yield from findings
    for path, tag in mentioned:
        for name in tag.names:
            if name not in rows:
                yield Finding(path, tag.line, "table", f"edge {name} has no row in {TABLE}")
    for name, number in rows.items():
        if name not in edges.sides:
            yield Finding(TABLE, number, "table", f"edge {name} occurs at no atomic access")


if __name__ == "__main__":
    sys.exit(main(__doc__, check))
