#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every atomic access in the rooms of the pool and in shim/ names the ordering edge of which it is a side, or
the reason why no thread relies on its order.

A site is a call of an order-named wrapper of ws_atomic.h; in shim/, whose headers OAI's files include, of a
compiler's __atomic builtin. On its line, or up to three lines above it (to the start of a comment that begins
higher up) but not beside another site, stands a comment with

    [edge NAME release|acquire|acq_rel|fence]     or     relaxed: <reason>

The relaxed wrappers whose name is the reason (ws_hint_load, ws_stat_add, ws_own_load, ...) are no sites.

Rules: tag (a site has one that fits its order), form (a tag can be read), loose (a tag has a site), sides (an
edge has a release and an acquire side), table (edges and the rows of MEMORY_MODEL.md are the same set),
raw (no atomic operation but the wrappers).
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lintkit import MODULE, CText, Finding, is_product, line_of, main, read, split_c, tree_files

PUBLIC = f"{MODULE}/include/"
SHIM = f"{MODULE}/shim/"
WRAPPERS = f"{MODULE}/base/ws_atomic.h"
TABLE = f"{MODULE}/MEMORY_MODEL.md"
LINES_ABOVE = 3

SITE = re.compile(r"\b(ws_(?:load|store|cas|add|sub|or|and|xchg|fence)_\w*)\s*\(")
# Calls that order memory without an atomic access of ours; a tag may stand at them.
CARRIER = re.compile(r"\b(?:pthread_\w+|ws_os_\w+|syscall|munmap|mmap)\s*\(|->\s*(?:futex|thread)_?\w*\s*\(")
BUILTIN = re.compile(r"\b(__atomic_\w+)\s*\([^;{]*?__ATOMIC_(RELAXED|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)\b")
RAW = re.compile(r"\b(?:__atomic_\w+|__sync_\w+|__c11_atomic_\w+|atomic_(?!bool|int|uint|flag\b)\w+)\s*\(")
NAMES = r"[A-Z][A-Z0-9_]*(?:\s*[|,]\s*[A-Z][A-Z0-9_]*)*"
EDGE = re.compile(r"\[edge\b([^\]]*)\]")
FORM = re.compile(rf"\s+({NAMES})(?:\s+(release|acquire|acq_rel|fence))?\s*")
RELAXED = re.compile(r"\brelaxed:[ \t]*\S[^\n]{3}")
ROW = re.compile(r"^\|\s*`?([A-Z][A-Z0-9_]*)`?\s*\|")

# The tags that a site's order can be: an acquire load is no release side, whatever its comment says.
FITS = {
    "relaxed": {"relaxed", "fence"},
    "acquire": {"acquire", "fence"},
    "release": {"release", "fence"},
    "acq_rel": {"acq_rel", "acquire", "release", "fence"},
    "seq_cst": {"acq_rel", "acquire", "release", "fence"},
    "fence": {"fence"},
}
SIDES = {"released": {"release", "acq_rel", "fence"}, "acquired": {"acquire", "acq_rel", "fence"}}


@dataclass(frozen=True)
class Tag:
    line: int
    side: str  # empty: the comment only names the edge
    names: tuple[str, ...] = ()


def sites_of(path: str, code: str) -> list[tuple[int, str, str]]:
    """Line, name and order of each atomic access."""
    if path.startswith(SHIM):
        return [(line_of(code, call.start()), call[1], call[2].lower()) for call in BUILTIN.finditer(code)]
    found = []
    for call in SITE.finditer(code):
        fence = call[1].startswith("ws_fence_")
        order = "fence" if fence else next((order for order in FITS if order in call[1]), "seq_cst")
        found.append((line_of(code, call.start()), call[1], order))
    return found


def window_start(text: CText, line: int) -> int:
    """First line whose tags count for an access: LINES_ABOVE higher, or where the comment there begins."""
    code, comments = text.code.split("\n"), text.comments.split("\n")

    def is_comment(number: int) -> bool:
        return bool(comments[number - 1].strip()) and not code[number - 1].strip()

    start = max(1, line - LINES_ABOVE)
    while start > 1 and is_comment(start) and is_comment(start - 1):
        start -= 1
    return start


@dataclass
class Lint:
    findings: list[Finding] = field(default_factory=list)
    sides: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)  # edge -> place -> side
    named: list[tuple[str, int, str]] = field(default_factory=list)  # path, line and edge of each tag

    def add(self, *words: str | int) -> None:
        self.findings.append(Finding(*words))  # type: ignore[arg-type]

    def tags(self, path: str, comments: str) -> list[Tag]:
        """Public headers only name edges. A tag within a reason, "relaxed: [edge X release]", is no side."""
        found = []
        for match in EDGE.finditer(comments):
            line, form = line_of(comments, match.start()), FORM.fullmatch(match[1])
            if form is None or (form[2] and path.startswith(PUBLIC)):
                self.add(path, line, "form", f"cannot read {match[0]!r}: [edge NAME release|acquire|...]")
                continue
            before = comments[comments.rfind("\n", 0, match.start()) + 1 : match.start()]
            side = "" if "relaxed:" in before else form[2] or ""
            found.append(Tag(line, side, tuple(re.split(r"\s*[|,]\s*", form[1]))))
            self.named += [(path, line, name) for name in found[-1].names]
        return found

    def file(self, path: str, text: CText) -> None:
        tags = self.tags(path, text.comments)
        if path.startswith(PUBLIC):
            return
        tags += [Tag(line_of(text.comments, at.start()), "relaxed") for at in RELAXED.finditer(text.comments)]
        sites = sites_of(path, text.code)
        busy, claimed = {line for line, _, _ in sites}, set()

        def reach(line: int) -> list[Tag]:
            start = window_start(text, line)
            return [t for t in tags if t.line == line or (start <= t.line < line and t.line not in busy)]

        for line, name, order in sites:
            fitting = [tag for tag in reach(line) if tag.side in FITS[order]]
            claimed.update(fitting)
            if not fitting:
                wanted = "relaxed: <reason>" if order == "relaxed" else f"[edge NAME {order}]"
                found = ", ".join(sorted({tag.side for tag in reach(line) if tag.side})) or "none"
                self.add(path, line, "tag", f"{name} needs {wanted} there or just above; found {found}")
        for call in CARRIER.finditer(text.code):
            claimed.update(tag for tag in reach(line_of(text.code, call.start())) if tag.side != "relaxed")
        for tag in tags:
            if tag.side and tag not in claimed:
                what = f"the {tag.side} side of {', '.join(tag.names)}" if tag.names else "relaxed"
                self.add(path, tag.line, "loose", f"no access here can be {what}")
            elif tag.side:
                for name in tag.names:
                    self.sides.setdefault(name, {})[path, tag.line] = tag.side
        for call in () if path.startswith(SHIM) else RAW.finditer(text.code):
            line = line_of(text.code, call.start())
            self.add(path, line, "raw", f"{call[0]}: use a wrapper of ws_atomic.h")

    def pairs(self) -> None:
        for name, places in self.sides.items():
            (path, line), found = min(places), set(places.values())
            for what, sides in SIDES.items():
                if not found & sides:
                    self.add(path, line, "sides", f"edge {name} is never {what}")
            if found == {"fence"} and len(places) < 2:
                self.add(path, line, "sides", f"edge {name} is one fence; a pair has two")

    def table(self, text: str) -> None:
        rows = set()
        for number, line in enumerate(text.split("\n"), 1):
            row = ROW.match(line)
            if row is None:
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            if len(cells) != 3 or not all(cells):
                self.add(TABLE, number, "table", "a row has three cells, none empty")
            if row[1] in rows:
                self.add(TABLE, number, "table", f"second row of {row[1]}")
            if row[1] not in self.sides:
                self.add(TABLE, number, "table", f"edge {row[1]} occurs at no atomic access")
            rows.add(row[1])
        for path, line_number, name in self.named:
            if name not in rows:
                self.add(path, line_number, "table", f"edge {name} has no row in {TABLE}")


def check(root: Path) -> list[Finding]:
    lint = Lint()
    for name in tree_files(root):
        looked_at = is_product(name) or name.startswith((PUBLIC, SHIM))
        if looked_at and name.endswith((".c", ".h")) and name != WRAPPERS:
            lint.file(name, split_c(read(root / name)))
    lint.pairs()
    lint.table(read(root / TABLE))
    return lint.findings


if __name__ == "__main__":
    sys.exit(main(check))
