# SPDX-License-Identifier: BSD-3-Clause
"""Findings as text for people and as JSON for machines."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from nrbench.doctor.checks import Finding, Findings, Remedy, quiet
from nrbench.doctor.target import Level
from nrbench.sweep.record import Host

STYLES = {Level.GOOD: "green", Level.NOTE: "cyan", Level.WARN: "yellow", Level.BAD: "bold red"}
INDENT = " " * 5


def worst(findings: Findings) -> Level:
    order = list(Level)
    levels = [finding.level for group in findings.values() for finding in group]
    return max(levels, key=order.index, default=Level.GOOD)


def _print(console: Console, text: Text, indent: str = "") -> None:
    """Wraps here, because rich leaves blanks at the ends of the lines that it wraps."""
    for line in text.wrap(console, console.width - len(indent)):
        line.rstrip()
        console.print(Text(indent) + line, soft_wrap=True)


def _line(finding: Finding) -> Text:
    mark = finding.level.value if finding.checked else "?"
    return Text.assemble(
        (f"{mark:<5}", STYLES[finding.level] if finding.checked else "dim"),
        (f"{finding.check}: ", "bold"),
        finding.seen,
    )


def _print_remedy(console: Console, remedy: Remedy) -> None:
    """A command to paste has a line of its own, which is never wrapped."""
    if remedy.kind == "advice":
        _print(console, Text(f"do: {remedy.text}"), INDENT)
        return
    head = "boot parameter" if remedy.kind == "boot" else "do" if remedy.lasts else "do, until the next boot"
    note = f" ({remedy.note})" if remedy.note else ""
    _print(console, Text(f"{head}{note}:"), INDENT)
    console.print(Text(f"{INDENT}  {remedy.text}"), soft_wrap=True)


def show(console: Console, host: Host, cpus: str, findings: Findings) -> None:
    _print(console, Text(f"{host.label}, Linux {host.kernel}. CPUs of the workers: {cpus}"))
    for area, group in findings.items():
        console.print()
        console.print(Text(area, style="bold underline"))
        for finding in group:
            _print(console, _line(finding))
            if finding.why:
                _print(console, Text(finding.why), INDENT)
            for remedy in finding.remedies:
                _print_remedy(console, remedy)
    console.print()
    console.print(Text(summary(findings)))
    _print(console, Text(str(quiet(findings)), style="bold"))


def summary(findings: Findings) -> str:
    every = [finding for group in findings.values() for finding in group]
    counts = Counter(finding.level for finding in every if finding.checked)
    unseen = len(every) - counts.total()
    parts = [f"{counts[level]} {level.value}" for level in (Level.BAD, Level.WARN, Level.NOTE, Level.GOOD)]
    return f"{', '.join(parts)}; {unseen} could not be checked"


def to_json(host: Host, cpus: str, findings: Findings) -> str:
    listed = [{"area": area} | asdict(finding) for area, group in findings.items() for finding in group]
    answer = {
        "doctor": 1,
        "worst": worst(findings).value,
        "quiet": quiet(findings)._asdict(),
        "cpus": cpus,
        "host": host.model_dump(),
        "findings": listed,
    }
    return json.dumps(answer, indent=1)
