# SPDX-License-Identifier: BSD-3-Clause
"""The lines of a part, and of a group of them the figures by round and their medians."""

import json
import statistics
from pathlib import Path
from typing import Any, Iterable, Mapping, NamedTuple

Line = dict[str, Any]
LABELS = ("bench", "case", "backend", "workers", "class", "mode")  # in lines, as in Key


class Key(NamedTuple):
    """What is the same in all rounds of a pool's measurement."""

    bench: str
    case: str
    backend: str
    workers: int
    sched_class: str
    mode: str

    def pool(self) -> str:
        return f"{self.backend} {self.workers}w{' hot' if self.mode == 'hot' else ''}"

    def __str__(self) -> str:
        return f"{self.case} {self.sched_class} {self.pool()}"


def _matches(have: Any, value: Any) -> bool:
    """@param value  a tuple = any of them"""
    return have in value if isinstance(value, tuple) else bool(have == value)


class Results:
    """The host's line, those with figures, and those with an error. [name] is the median over the rounds."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.all = list(lines)
        others = [line for line in self.all if line.get("bench") != "host"]
        self.lines = [line for line in others if not line.get("error")]
        self.failed = [line for line in others if line.get("error")]

    @property
    def host(self) -> Line:
        for line in self.all:
            if line.get("bench") == "host":
                return line
        raise ValueError("no line of the results describes the host")

    def only(self, **wanted: Any) -> "Results":
        """The lines with these labels. class_ is the label class."""
        named = {name.rstrip("_"): value for name, value in wanted.items()}
        return Results(
            line
            for line in [*self.lines, *self.failed]
            if all(name in line and _matches(line[name], value) for name, value in named.items())
        )

    def by(self, *names: str) -> dict[Any, "Results"]:
        """By the values of these labels, in the order of the lines; by a value where there is one label."""
        found: dict[Any, list[Line]] = {}
        for line in (line for line in self.all if all(name in line for name in names)):
            values = tuple(line[name] for name in names)
            found.setdefault(values if len(names) > 1 else values[0], []).append(line)
        return {key: Results(lines) for key, lines in found.items()}

    def rounds(self, name: str, **wanted: Any) -> dict[int, float]:
        """The value of each round."""
        lines = self.only(**wanted).lines if wanted else self.lines
        return {line["round"]: line[name] for line in lines if line.get(name) is not None}

    def get(self, name: str, default: Any = None) -> Any:
        values = self.rounds(name).values()
        return statistics.median(values) if values else default

    def __getitem__(self, name: str) -> Any:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    @property
    def cpu_per_work(self) -> float:
        return float(self["cpu_s"] / self["work_s"])

    def last(self, name: str, default: Any) -> Any:
        return next((line[name] for line in reversed(self.all) if name in line), default)


Groups = dict[Key, Results]


def read_lines(path: Path) -> list[Line]:
    lines = []
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}:{number}: not JSON: {error}") from error
    return lines


def groups(results: Results) -> Groups:
    """Of measurements of pools."""
    return {Key(*labels): found for labels, found in results.by(*LABELS).items()}


def select(every: Mapping[Key, Results], has_result: bool = True, **wanted: Any) -> Groups:
    """Those whose key has the wanted values, and that have a result; a tuple of values = any of them."""
    return {
        key: found
        for key, found in every.items()
        if (found.lines or not has_result)
        and all(_matches(getattr(key, name), value) for name, value in wanted.items())
    }
