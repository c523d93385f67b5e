# SPDX-License-Identifier: BSD-3-Clause
"""Findings as text for people and as JSON for machines."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.text import Text

from nrbench import host
from nrbench.doctor.checks import QUESTION, examine, quiet
from nrbench.doctor.layout import Line
from nrbench.doctor.target import Level, Target
from nrbench.render import Terminal

STYLES = {"?": "dim", "good": "green", "note": "cyan", "warn": "yellow", "bad": "bold red"}
INDENT = " " * 5
PLAIN_COLUMNS = 110  # where the output is no terminal


def answer(target: Target, measure: bool) -> dict[str, Any]:
    """What --json prints."""
    findings = examine(target, measure)
    worst = max((finding.level for finding in findings), key=list(Level).index)
    about = {"doctor": 2, "worst": worst.value, "quiet": quiet(findings), "cpus": target.names}
    return about | {
        "host": host.describe(system=target.system).model_dump(),
        "findings": [asdict(finding) | {"level": finding.level.value} for finding in findings],
    }


def _print(console: Terminal, text: Text, indent: str = "") -> None:
    """Wraps here, because rich leaves blanks at the ends of the lines that it wraps."""
    for line in text.wrap(console, console.width - len(indent)):
        line.rstrip()
        console.print(Text(indent) + line, soft_wrap=True)


def _terminal() -> Terminal:
    return Terminal(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_COLUMNS)


def show_layout(title: str, lines: Iterable[Line]) -> None:
    console = _terminal()
    _print(console, Text(title))
    for where, group in groupby(lines, key=lambda line: line.where):
        console.print("", Text(where, style="bold underline"), sep="\n")
        for line in group:
            console.print(Text(line.line), soft_wrap=True)
            _print(console, Text(line.why, style="dim"), INDENT)


def show(answer: dict[str, Any]) -> None:
    """A remedy may be a command to paste: it is never wrapped."""
    console = _terminal()
    machine = "{label}, Linux {kernel}".format_map(answer["host"])
    _print(console, Text(f"{machine}. CPUs of the workers: {answer['cpus']}"))
    for area, findings in groupby(answer["findings"], key=lambda finding: finding["area"]):
        console.print("", Text(area, style="bold underline"), sep="\n")
        for finding in findings:
            level, title = finding["level"], (f"{finding['check']}: ", "bold")
            _print(console, Text.assemble((f"{level:<5}", STYLES[level]), title, finding["seen"]))
            if finding["why"]:
                _print(console, Text(finding["why"]), INDENT)
            for remedy in finding["do"]:
                console.print(Text(f"{INDENT}- {remedy}"), soft_wrap=True)
    counts = Counter(finding["level"] for finding in answer["findings"])
    console.print("", Text(", ".join(f"{counts[level]} {level}" for level in reversed(STYLES))), sep="\n")
    because = "; ".join(answer["quiet"]["reasons"])
    said = f"{QUESTION} {answer['quiet']['answer']}" + (f": {because}" if because else "")
    _print(console, Text(said, style="bold"))
