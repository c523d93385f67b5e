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


def round_ratios(of: Summary, to: Summary, name: str) -> list[float]:
    """Of the rounds that both have: what the machine does for longer than a round cancels."""
    upper, lower = of.by_round.get(name, {}), to.by_round.get(name, {})
    return [upper[number] / lower[number] for number in sorted(upper.keys() & lower.keys())]


def matching(summaries: Summaries, **wanted: Any) -> Summaries:
    """Those whose key has the wanted values; a tuple of values = any of them."""

    def matches(key: Key) -> bool:
        values = ((getattr(key, name), value) for name, value in wanted.items())
        return all(have in value if isinstance(value, tuple) else have == value for have, value in values)

    return {key: summary for key, summary in summaries.items() if matches(key)}


def select(summaries: Summaries, **wanted: Any) -> Summaries:
    """Of matching(), those with a result."""
    return {key: summary for key, summary in matching(summaries, **wanted).items() if summary.rounds}
