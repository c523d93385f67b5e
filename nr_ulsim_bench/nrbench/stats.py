# SPDX-License-Identifier: BSD-3-Clause
"""From the lines of a run to medians over its rounds."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, NamedTuple

Line = dict[str, Any]


LABELS = ("bench", "case", "backend", "workers", "class", "mode", "hog")  # in lines, as in Key


class Key(NamedTuple):
    """What is the same in all rounds."""

    bench: str
    case: str
    backend: str
    workers: int
    sched_class: str
    mode: str
    hog: bool

    def pool(self) -> str:
        return f"{self.backend} {self.workers}w{' hot' if self.mode == 'hot' else ''}"

    def __str__(self) -> str:
        return f"{self.case} {self.sched_class} {self.pool()}{' with a hog' if self.hog else ''}"


@dataclass
class Summary:
    """Medians over the rounds that gave a result, and the errors of those that did not."""

    medians: dict[str, float] = field(default_factory=dict)
    by_round: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    rounds: int = 0
    errors: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> float:
        return self.medians[name]

    def get(self, name: str) -> float | None:
        return self.medians.get(name)

    @property
    def cpu_per_work(self) -> float:
        return self.medians["cpu_s"] / self.medians["work_s"]


Summaries = dict[Key, Summary]


class Results:
    """The lines of a part: the host's, those with figures, and those with an error."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.all = list(lines)
        others = [line for line in self.all if line.get("bench") != "host"]
        self.lines = [line for line in others if "error" not in line]
        self.failed = [line for line in others if "error" in line]

    @property
    def host(self) -> Line:
        for line in self.all:
            if line.get("bench") == "host":
                return line
        raise ValueError("no line of the results describes the host")

    def only(self, **labels: Any) -> Results:
        return Results(line for line in self.lines if labels.items() <= line.items())

    def rounds(self, figure: str, **labels: Any) -> dict[int, float]:
        """A figure by round."""
        lines = self.only(**labels).lines if labels else self.lines
        return {line["round"]: line[figure] for line in lines if figure in line}

    def last(self, name: str, default: Any) -> Any:
        return next((line[name] for line in reversed(self.lines) if name in line), default)

    def values(self, name: str) -> list[Any]:
        """Each value of a label or figure once, in the order of the lines."""
        found: list[Any] = []
        for line in self.lines:
            if name in line and line[name] not in found:
                found.append(line[name])
        return found


def read_lines(path: Path) -> list[Line]:
    lines = []
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}:{number}: not JSON: {error}") from error
    return lines


def summarize(lines: Iterable[Line]) -> Summaries:
    found: Summaries = defaultdict(Summary)
    for line in (line for line in lines if line["bench"] != "host"):
        summary = found[Key(*(line[name] for name in LABELS))]
        if "error" in line:
            summary.errors.append(line["error"])
            continue
        summary.rounds += 1
        for name in line.keys() - {*LABELS, "round"}:
            if isinstance(line[name], (int, float)):
                summary.by_round[name][line["round"]] = line[name]
    for summary in found.values():
        summary.medians = {name: statistics.median(v.values()) for name, v in summary.by_round.items()}
    return dict(found)


def matching(summaries: Summaries, **wanted: Any) -> Summaries:
    """Those whose key has the wanted values; a tuple of values = any of them."""

    def matches(key: Key) -> bool:
        values = ((getattr(key, name), value) for name, value in wanted.items())
        return all(have in value if isinstance(value, tuple) else have == value for have, value in values)

    return {key: summary for key, summary in summaries.items() if matches(key)}


def select(summaries: Summaries, **wanted: Any) -> Summaries:
    """Of matching(), those with a result."""
    return {key: summary for key, summary in matching(summaries, **wanted).items() if summary.rounds}
