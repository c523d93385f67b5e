# SPDX-License-Identifier: BSD-3-Clause
"""Examines a host by the rows of checks.toml, and answers whether it is quiet enough to measure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nrbench import facts
from nrbench.doctor import looks, wakes
from nrbench.doctor.target import Level, Seen, Target, Unseen, unseen

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

ROWS = tomllib.loads(Path(__file__).with_name("checks.toml").read_text(encoding="utf-8"))
LOOKS = vars(looks) | vars(wakes)
ACTIVITY, WAKES = "Activity", "Wake latency"  # areas of the checks that take a second and more
NOTE = "  # "  # before the note of a remedy
NOISE = ("other programs", "steal time", "load")  # names of checks; the first that complains is named first
QUESTION = "quiet enough to measure?"


@dataclass(frozen=True)
class Remedy:
    """A command for root's shell, boot parameters, or advice in words."""

    text: str
    kind: Literal["command", "boot", "advice"]
    lasts: bool  # after a reboot
    note: str = ""  # its condition or its cost


@dataclass(frozen=True)
class Finding:
    area: str
    level: Level
    seen: str
    why: str = ""
    remedies: tuple[Remedy, ...] = ()
    check: str = ""
    checked: bool = True  # False: `seen` is the reason why it cannot be checked here


def _remedies(line: str) -> Iterator[Remedy]:
    """Of a line of `do`; the head of checks.toml has its form."""
    order, _, note = line.partition(NOTE)
    kind, _, text = order.partition(": ")
    if kind == "sysctl":
        name, value = text.split("=")
        file = f"/etc/sysctl.d/90-realtime-{name.rpartition('.')[2]}.conf"
        yield Remedy(f"sysctl -w {text}", "command", False, note)
        yield Remedy(f"echo {name} = {value} > {file}", "command", True, note)
    elif kind in ("now", "always"):
        yield Remedy(text, "command", kind == "always", note)
    else:
        yield Remedy(text, "boot", True, note) if kind == "boot" else Remedy(line, "advice", True)


def _compare(row: dict[str, Any], target: Target) -> Seen | None:
    """A row with a fact. A fact of each CPU is compared on the workers' CPUs."""
    fact = getattr(facts, row["fact"])
    values = target.each(fact) if "{}" in fact.name else [target.see(fact)]
    if not values:
        return None  # the driver has no such setting
    wanted, least, most = row.get("wanted"), row.get("least", values[0]), row.get("most", values[0])
    good = all(value in wanted if wanted else least <= value <= most for value in values)
    value = values[0] if len(values) == 1 else ", ".join(values)
    shown = {"label": fact.label, "file": fact.at("*"), "value": value}
    seen = row["good"] if good and "good" in row else row["seen"]
    level = Level.GOOD if good else Level(row.get("level", "note"))
    return Seen(level, seen.format_map(shown), values=shown)


def _looked(check: str, row: dict[str, Any], target: Target) -> Iterator[Seen]:
    try:
        name = check.lower().translate(str.maketrans(" -", "__"))
        found = _compare(row, target) if "fact" in row else LOOKS[name](target)
        yield from [found] if isinstance(found, Seen) else found or ()
    except Unseen as error:
        yield unseen(row.get("hidden", str(error)))


def _finding(area: str, check: str, row: dict[str, Any], seen: Seen, target: Target) -> Finding:
    """With the texts of the row. What is good has none unless its case has."""
    plain = not seen.checked or seen.level is Level.GOOD and not seen.case
    words = {} if plain else {"why": row.get("why", "")} | row.get(seen.case, {}) if seen.case else row
    remedies: list[Remedy] = []
    for line in words.get("do", ()) if seen.level is not Level.GOOD else ():
        with suppress(KeyError):
            remedies += _remedies(line.format_map(target.values | seen.values))
    why, check = words.get("why", "").format_map(seen.values), words.get("check", check)
    return Finding(area, seen.level, seen.text, why, tuple(remedies), check, seen.checked)


def examine(target: Target, measure: bool = True) -> list[Finding]:
    """`measure`: also the checks that take a second and more."""
    left_out = {ACTIVITY, WAKES} if not measure else {WAKES} if target.wakes is None else set()
    rows = [
        (area, name, row) for area, rows in ROWS.items() if area not in left_out for name, row in rows.items()
    ]
    return [_finding(*row, seen, target) for row in rows for seen in _looked(*row[1:], target)]


class Quiet(NamedTuple):
    answer: str  # yes, no or unknown
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{QUESTION} {self.answer}{reasons}"


def quiet(findings: list[Finding]) -> Quiet:
    found = {finding.check: finding for finding in findings if finding.checked and finding.check in NOISE}
    noise = [found[name] for name in NOISE if name in found and found[name].level in (Level.WARN, Level.BAD)]
    unseen = ", ".join(name for name in NOISE if name not in found)
    if noise:
        return Quiet("no", tuple(f"{finding.check}: {finding.seen}" for finding in noise))
    return Quiet("unknown", (f"not measured: {unseen}",)) if unseen else Quiet("yes", ())
