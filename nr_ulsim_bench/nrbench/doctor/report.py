# SPDX-License-Identifier: BSD-3-Clause
"""Findings as text for people and as JSON for machines."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from typing import Any

from rich.console import Console
from rich.text import Text

from nrbench.doctor.checks import Finding, Remedy, quiet
from nrbench.doctor.target import Level
from nrbench.record import Host

STYLES = {Level.GOOD: "green", Level.NOTE: "cyan", Level.WARN: "yellow", Level.BAD: "bold red"}
INDENT = " " * 5


def worst(findings: list[Finding]) -> Level:
    return max((finding.level for finding in findings), key=list(Level).index, default=Level.GOOD)


def _print(console: Console, text: Text, indent: str = "") -> None:
    """Wraps here, because rich leaves blanks at the ends of the lines that it wraps."""
    for line in text.wrap(console, console.width - len(indent)):
        line.rstrip()
        console.print(Text(indent) + line, soft_wrap=True)


def _print_remedy(console: Console, remedy: Remedy) -> None:
    """A command to paste has a line of its own, which is never wrapped."""
    if remedy.kind == "advice":
        _print(console, Text(f"do: {remedy.text}"), INDENT)
        return
    head = "boot parameter" if remedy.kind == "boot" else "do" if remedy.lasts else "do, until the next boot"
    _print(console, Text(f"{head} ({remedy.note}):" if remedy.note else f"{head}:"), INDENT)
    console.print(Text(f"{INDENT}  {remedy.text}"), soft_wrap=True)


def show(console: Console, host: Host, cpus: str, findings: list[Finding]) -> None:
    _print(console, Text(f"{host.label}, Linux {host.kernel}. CPUs of the workers: {cpus}"))
    counts = Counter(finding.level.value if finding.checked else "?" for finding in findings)
    for area, group in groupby(findings, key=attrgetter("area")):
        console.print("", Text(area, style="bold underline"), sep="\n")
        for finding in group:
            mark, style = (finding.level.value, STYLES[finding.level]) if finding.checked else ("?", "dim")
            title = (f"{finding.check}: ", "bold")
            _print(console, Text.assemble((f"{mark:<5}", style), title, finding.seen))
            if finding.why:
                _print(console, Text(finding.why), INDENT)
            for remedy in finding.remedies:
                _print_remedy(console, remedy)
    parts = ", ".join(f"{counts[level.value]} {level.value}" for level in reversed(Level))
    console.print("", Text(f"{parts}; {counts['?']} could not be checked"), sep="\n")
    _print(console, Text(str(quiet(findings)), style="bold"))


def answer(host: Host, cpus: str, findings: list[Finding]) -> dict[str, Any]:
    """What --json prints."""
    return {
        "doctor": 1,
        "worst": worst(findings).value,
        "quiet": quiet(findings)._asdict(),
        "cpus": cpus,
        "host": host.model_dump(),
        "findings": [asdict(finding) for finding in findings],
    }
