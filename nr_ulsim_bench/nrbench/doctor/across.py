# SPDX-License-Identifier: BSD-3-Clause
"""The doctor on all hosts of a cluster at once: one table of the hosts, in what they differ, and each finding
with the hosts that have it."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Protocol, Sequence

from rich.console import Console
from rich.text import Text

from nrbench import host
from nrbench.doctor import checks, latency, report
from nrbench.doctor.finding import Level, Target
from nrbench.doctor.wakes import PROGRAM

LIMIT_S = 180.0  # of one host, its measurements included
ASKS = 3  # of a clock; the answer that came fastest counts
CLOCK_S = 0.1  # between clocks; less is no difference
BASE = ("host", "CPU", "cores", "kernel", "governor", "clock, s", "nrbench", "bad", "warn", "note", "quiet")
COMPARED = ("CPU", "cores", "kernel", "governor", "nrbench", "python")
SHOWN = (Level.BAD, Level.WARN)


class Cluster(Protocol):
    """What the doctor needs of nrbench.cluster.connect.Cluster."""

    @property
    def hosts(self) -> Sequence[Any]: ...

    def run_on(self, host: Any, function: Callable[..., Any], *arguments: Any) -> Any: ...


@dataclass(frozen=True)
class Examined:
    """A host's answer; or why there is none."""

    name: str
    facts: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[Mapping[str, Any]] = ()
    quiet: str = ""
    offset_s: float | None = None  # its clock, less this machine's
    doubt_s: float = 0.0  # half of the time that the question took
    error: str = ""

    def count(self, level: Level) -> int:
        return sum(one["level"] == level.value and one["checked"] for one in self.findings)

    @property
    def is_bad(self) -> bool:
        return bool(self.error or self.count(Level.BAD))

    @property
    def clock_is_off(self) -> bool:
        return self.offset_s is not None and abs(self.offset_s) - self.doubt_s > CLOCK_S

    @property
    def clock(self) -> str:
        return "-" if self.offset_s is None else f"{self.offset_s:+.1f}" if self.clock_is_off else "0"


def examine_here(measure: bool) -> dict[str, Any]:
    """Runs on a host. @return what `nrbench doctor --json` prints, and what else is compared"""
    from nrbench.cluster.hosts import system_here

    system = system_here()
    target = Target(system, system.affinity())
    findings = checks.examine(target, measure)
    if measure and system.is_real:
        findings["Wake latency"] = latency.examine(target, PROGRAM)
    about: dict[str, Any] = json.loads(report.to_json(host.describe(system=system), target.list, findings))
    version = host.commit(Path(__file__).parent) or "unknown"
    return about | {"nrbench": version, "python": ".".join(map(str, sys.version_info[:3]))}


def clock_here() -> float:
    """Runs on a host."""
    return time.time()


def _offset(cluster: Cluster, one: Any, now: Callable[[], float]) -> tuple[float, float]:
    """@return the offset of a host's clock, and half of the time in which it was asked; s"""
    found = []
    for _ in range(ASKS):
        before = now()
        there = float(cluster.run_on(one, clock_here).result(timeout=LIMIT_S))
        after = now()
        found.append((after - before, there - (before + after) / 2))
    took_s, offset_s = min(found)
    return offset_s, took_s / 2


def _examined(name: str, about: Mapping[str, Any], offset_s: float, doubt_s: float) -> Examined:
    machine = about["host"]
    facts = {
        "CPU": machine["cpu"],
        "cores": str(machine["cores"]),
        "kernel": machine["kernel"],
        "governor": machine["governor"] or "none",
        "nrbench": about["nrbench"],
        "python": about["python"],
    }
    return Examined(name, facts, about["findings"], about["quiet"]["answer"], offset_s, doubt_s)


def examine(cluster: Cluster, measure: bool, now: Callable[[], float] = time.time) -> list[Examined]:
    """All hosts at once; their clocks then, when nothing runs there. A host that fails costs no other one."""
    answers = [(one, cluster.run_on(one, examine_here, measure)) for one in cluster.hosts]
    found = []
    for one, answer in answers:
        try:
            about = answer.result(timeout=LIMIT_S)
            found.append(_examined(one.name, about, *_offset(cluster, one, now)))
        except Exception as error:  # whatever the host's own software raises
            found.append(Examined(one.name, error=f"{type(error).__name__}: {error}".strip(": ")))
    return found


def _hosts_text(names: Sequence[str], every: int) -> str:
    return "all hosts" if len(names) == every and every > 1 else ", ".join(names)


def differences(hosts: Sequence[Examined]) -> Iterator[str]:
    """In what the hosts differ, each value with its hosts, the most frequent one first."""
    there = [one for one in hosts if not one.error]
    for name in COMPARED:
        values: dict[str, list[str]] = defaultdict(list)
        for one in there:
            values[one.facts[name]].append(one.name)
        if len(values) > 1:
            parts = sorted(values.items(), key=lambda of: -len(of[1]))
            yield f"{name} differs: " + "; ".join(f"{value} ({', '.join(names)})" for value, names in parts)
    for one in there:
        if one.clock_is_off:
            yield f"clock differs: {one.name} is {one.clock} s from this machine; run NTP there"


def finding_rows(hosts: Sequence[Examined]) -> list[list[str]]:
    """Each finding once, the worst first, with the hosts that have it."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for one in hosts:
        for finding in one.findings:
            if finding["checked"] and finding["level"] in [level.value for level in SHOWN]:
                found[finding["level"], finding["check"], finding["seen"]].append(one.name)
    order = [level.value for level in SHOWN]
    there = sum(not one.error for one in hosts)
    rows = sorted(found.items(), key=lambda of: order.index(of[0][0]))
    return [[*finding, _hosts_text(names, there)] for finding, names in rows]


def host_row(one: Examined) -> list[str]:
    if one.error:
        return [one.name, *["-"] * (len(BASE) - 2), "failed"]
    counts = [str(one.count(level)) for level in (Level.BAD, Level.WARN, Level.NOTE)]
    facts = [one.facts[name] for name in ("CPU", "cores", "kernel", "governor")]
    return [one.name, *facts, one.clock, one.facts["nrbench"], *counts, one.quiet]


def status_of(hosts: Sequence[Examined]) -> int:
    return int(any(one.is_bad for one in hosts))


def show(console: Console, hosts: Sequence[Examined]) -> None:
    from nrbench.render import Table, plain_columns, rich_table

    console.print(rich_table(Table("", plain_columns(*BASE), [host_row(one) for one in hosts], [])))
    for text in differences(hosts):
        console.print(Text(text, style="yellow"))
    for one in hosts:
        if one.error:
            console.print(Text(f"{one.name}: not examined: {one.error}", style="bold red"))
    rows = finding_rows(hosts)
    if rows:
        console.print()
        columns = plain_columns("level", "check", "finding", "host")
        console.print(rich_table(Table("", columns, rows, [])))
        console.print(Text("Run nrbench doctor on a host for reasons and remedies."))
    counts = Counter("failed" if one.error else one.quiet for one in hosts)
    answers = ", ".join(f"{answer} {count}" for answer, count in counts.items())
    console.print(Text(f"quiet enough to measure? {answers} (of {len(hosts)} hosts)", style="bold"))


def to_json(hosts: Sequence[Examined]) -> str:
    listed = [
        {
            "name": one.name, "error": one.error or None, **one.facts, "clock_offset_s": one.offset_s,
            "quiet": one.quiet, "findings": list(one.findings),
        }
        for one in hosts
    ]  # fmt: skip
    return json.dumps({"doctor": 1, "hosts": listed, "differences": list(differences(hosts))}, indent=1)
