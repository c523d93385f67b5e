# SPDX-License-Identifier: BSD-3-Clause
"""Which runs were taken together: each once, and rounds as they really were."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Sequence

from nrbench.sweep.record import RUNS, ResultsError, Run, identity, moment

PAUSE_S = 60.0  # between two runs in which the machine did something else
Source = tuple[str, Sequence[Run]]  # the file's name, and its runs


class Merged(NamedTuple):
    runs: list[Run]
    repeated: Counter[str]  # by file: its runs that are in an earlier file, too
    replaced: list[Run]  # failed; another one was taken in their place


def results_file(path: Path) -> Path:
    """Of a folder, the results in it."""
    return path / RUNS if path.is_dir() else path


def _what(run: Run) -> str:
    return f"{run.scenario} / {run.case}, {run.variant}, {run.threads} threads, repeat {run.repeat}"


def _same_line(one: Run, other: Run) -> bool:
    return (one.began, one.status, one.figures) == (other.began, other.status, other.figures)


def _worth(run: Run) -> tuple[bool, datetime]:
    """A result is worth more than a failure, a failure more than the one before."""
    return run.status == "ok", began(run)


def merged(sources: Sequence[Source]) -> Merged:
    """
    Every run once. Of a run that failed and was taken again, the last; of a line that is in two files, one.

    Raises ResultsError for two results of what should be one run: neither may be dropped.
    """
    kept: dict[tuple[object, ...], tuple[str, Run]] = {}
    repeated: Counter[str] = Counter()
    replaced: list[Run] = []
    for name, runs in sources:
        for run in runs:
            key = (run.host.id, run.sweep, *identity(run, run.repeat))
            if key not in kept:
                kept[key] = (name, run)
            elif _same_line(kept[key][1], run):
                repeated[name] += 1
            else:
                _check_one_result(kept[key], (name, run))
                worse, better = sorted((kept[key], (name, run)), key=lambda of: _worth(of[1]))
                replaced.append(worse[1])
                kept[key] = better
    return Merged([run for _, run in kept.values()], repeated, replaced)


def _check_one_result(first: tuple[str, Run], second: tuple[str, Run]) -> None:
    (before, one), (name, other) = first, second
    if one.status == other.status == "ok":
        files = " and ".join(dict.fromkeys(part for part in (before, name) if part))
        raise ResultsError(
            f"{files}{': ' if files else ''}two results of one run of sweep {one.sweep} ({_what(one)}), "
            f"begun {one.began} and {other.began}: two machines with one id, or two sweeps at once? "
            "Report them apart"
        )


def began(run: Run) -> datetime:
    return moment(run.began)


def passes(runs: Sequence[Run]) -> list[int]:
    """
    One number a run: runs of a sweep that share it, and the repeat, were taken in one go, as a round.

    A sweep takes one round after the other. Where an earlier round comes again, something was added to it
    later: a setting, or a failed run once more. Where nothing ran for a while, it had been interrupted.
    """
    found = [0] * len(runs)
    last: dict[tuple[str, str], int] = {}
    for index in sorted(range(len(runs)), key=lambda place: (began(runs[place]), runs[place].repeat)):
        run = runs[index]
        sweep = (run.host.id, run.sweep)
        before = last.get(sweep)
        if before is not None:
            found[index] = found[before] + _breaks(runs[before], run)
        last[sweep] = index
    return found


def _breaks(before: Run, run: Run) -> bool:
    pause_s = (began(run) - began(before)).total_seconds() - (before.wall_s or 0)
    return run.repeat < before.repeat or pause_s > PAUSE_S
