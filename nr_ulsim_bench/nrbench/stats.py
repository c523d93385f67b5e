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
    by_round: dict[str, dict[int, float]] = field(default_factory=dict)
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


def key_of(line: Line) -> Key:
    return Key(
        line["bench"],
        line["case"],
        line["backend"],
        line["workers"],
        line["class"],
        line["mode"],
        line["hog"],
    )


def summarize(lines: Iterable[Line]) -> Summaries:
    groups: dict[Key, list[Line]] = defaultdict(list)
    for line in lines:
        if line["bench"] != "host":
            groups[key_of(line)].append(line)
    return {key: _summarize_group(group) for key, group in groups.items()}


def _summarize_group(group: list[Line]) -> Summary:
    summary = Summary(errors=[line["error"] for line in group if "error" in line])
    good = [line for line in group if "error" not in line]
    summary.rounds = len(good)
    if good:
        labels = {"bench", "case", "backend", "workers", "class", "mode", "hog", "round"}
        for name in {name for line in good for name in line} - labels:
            having = [line for line in good if isinstance(line.get(name), (int, float))]
            if having:
                summary.by_round[name] = {line["round"]: line[name] for line in having}
                summary.medians[name] = statistics.median(line[name] for line in having)
    return summary


def round_ratios(of: Summary, to: Summary, name: str) -> list[float]:
    """Of the rounds that both have: what the machine does for longer than a round cancels."""
    upper, lower = of.by_round.get(name, {}), to.by_round.get(name, {})
    return [upper[number] / lower[number] for number in sorted(upper.keys() & lower.keys())]


def select(summaries: Summaries, **wanted: Any) -> Summaries:
    """Those with a result whose key has the wanted values; a tuple, list or set of values = any of them."""

    def matches(key: Key) -> bool:
        for name, value in wanted.items():
            have = getattr(key, name)
            if have not in value if isinstance(value, (tuple, list, set)) else have != value:
                return False
        return True

    return {key: summary for key, summary in summaries.items() if summary.rounds and matches(key)}
