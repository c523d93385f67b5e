# SPDX-License-Identifier: BSD-3-Clause
"""Examines a host by the rows of checks.toml, and answers whether it is quiet enough to measure."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nrbench import facts, toml
from nrbench.doctor import looks, noise, wakes
from nrbench.doctor.target import Level, Seen, Target, Unseen, good, note, visible
from nrbench.system import format_cpus

ROWS = toml.loads(Path(__file__).with_name("checks.toml").read_text(encoding="utf-8"))
LOOKS = vars(looks) | vars(noise) | vars(wakes)
ACTIVITY, WAKES = "Activity", "Wake latency"  # areas of the checks that take a second and more
NOISE = ("other programs", "steal time", "load")  # names of checks; the first that complains is named first
HIDDEN = "hidden steal"  # the same, of the machine itself only
QUESTION = "quiet enough to measure?"


@dataclass(frozen=True)
class Finding:
    area: str
    check: str
    level: Level
    seen: str
    why: str = ""
    do: tuple[str, ...] = ()


def _compare(row: dict[str, Any], target: Target) -> Seen:
    name, *given = row["fact"]
    value = visible(getattr(facts, name)(target.system, *given), "not visible here")
    right = value >= row["least"] if "least" in row else value in row["wanted"]
    text = row.get("seen", "{value}").format(value=value)
    if right:
        return good(row.get("good", text))
    return Seen(Level(row.get("level", "note")), text, {"value": value})


def _includes(check: str, row: dict[str, Any], target: Target) -> Seen:
    """A boot parameter that should name all CPUs of the workers."""
    named, given = getattr(facts, row["includes"])(target.system), target.system.boot_parameter(check)
    if "option" in row and facts.built_without(target.system, row["option"]):
        raise Unseen("this kernel is built without it")
    if target.cpus <= named:
        return good(f"{format_cpus(named)}, which includes all of the workers' CPUs {target.names}")
    text = f"set for {target.where(named)}" if named & target.cpus else "not set"
    text += f"; these lack it: {target.where(target.cpus - named)}"
    text += f" (boot parameter {check}={given})" if given else ""
    return Seen(Level(row.get("level", "note")), text)


def _excludes(row: dict[str, Any], target: Target) -> Seen:
    """CPUs of something that should keep off the workers'."""
    found = visible(getattr(facts, row["excludes"])(target.system), f"{row['what']} is not visible")
    if found & target.cpus:
        return note(f"{row['what']} may run on {target.where(found)}")
    return good(f"{row['what']} stays off {target.where(target.cpus)}")


def _look(check: str, row: dict[str, Any], target: Target) -> Seen:
    if "includes" in row:
        return _includes(check, row, target)
    if "excludes" in row:
        return _excludes(row, target)
    if "fact" in row:
        return _compare(row, target)
    found: Seen = LOOKS[check.lower().translate(str.maketrans(" -", "__"))](target)
    return found


def _finding(area: str, check: str, row: dict[str, Any], target: Target) -> Finding:
    """With the texts of the row, unless it is good."""
    try:
        seen = _look(check, row, target)
    except Unseen as error:
        return Finding(area, check, Level.UNSEEN, row.get("hidden", str(error)))
    if seen.level is Level.GOOD:
        return Finding(area, check, seen.level, seen.text)
    do: list[str] = []
    for line in row.get("do", ()):
        with suppress(KeyError):
            do.append(line.format_map(target.values | seen.values))
    return Finding(area, check, seen.level, seen.text, row["why"].format_map(seen.values), tuple(do))


def examine(target: Target, measure: bool = True) -> list[Finding]:
    """`measure`: also the checks that take a second and more."""
    left_out = {ACTIVITY, WAKES} if not measure else {WAKES} if target.wakes is None else set()
    areas = [(area, rows) for area, rows in ROWS.items() if area not in left_out]
    return [_finding(area, name, row, target) for area, rows in areas for name, row in rows.items()]


def quiet(findings: list[Finding]) -> dict[str, Any]:
    """Whether it is quiet enough to measure: yes, no or unknown."""
    found = {finding.check: finding for finding in findings if finding.level is not Level.UNSEEN}
    noise = [
        found[name]
        for name in (*NOISE, HIDDEN)
        if name in found and found[name].level in (Level.WARN, Level.BAD)
    ]
    lacking = ", ".join(name for name in NOISE if name not in found)
    if noise:
        return {"answer": "no", "reasons": [f"{finding.check}: {finding.seen}" for finding in noise]}
    if lacking:
        return {"answer": "unknown", "reasons": [f"not measured: {lacking}"]}
    return {"answer": "yes", "reasons": []}
