# SPDX-License-Identifier: BSD-3-Clause
"""Which runs were taken together: each once, and rounds as they really were."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple, Sequence

from nrbench.sweep.record import RUNS, ResultsError, Run, identity

PAUSE_S = 60.0  # between two runs in which the machine did something else
Source = tuple[str, Sequence[Run]]  # the file's name, and its runs


class Merged(NamedTuple):
    runs: list[Run]
    repeated: Counter[str]  # by file: its runs that are in an earlier file, too
    replaced: list[Run]  # failed; another one was taken in their place


def results_file(path: Path) -> Path:
    """Of a folder, the results in it."""
    return path / RUNS if path.is_dir() else path


def merged(sources: Sequence[Source]) -> Merged:
    """
    Every run once. Of a run that failed and was taken again, the last; of a line that is in two files, one.

    Raises ResultsError for two results of what should be one run: neither may be dropped.
    """
    kept: dict[tuple[object, ...], tuple[str, Run]] = {}
    repeated: Counter[str] = Counter()
    replaced: list[Run] = []
    for name, run in ((name, run) for name, runs in sources for run in runs):
        key = (run.host.id, run.sweep, *identity(run, run.repeat))
        before, one = kept.setdefault(key, (name, run))
        if one is run:
            continue
        if (one.began, one.status, one.figures) == (run.began, run.status, run.figures):
            repeated[name] += 1
            continue
        if one.status == run.status == "ok":
            raise _two_results((before, one), (name, run))
        worse, better = sorted(
            ((before, one), (name, run)), key=lambda of: (of[1].status == "ok", of[1].time)
        )
        replaced.append(worse[1])
        kept[key] = better
    return Merged([run for _, run in kept.values()], repeated, replaced)


def _two_results(first: tuple[str, Run], second: tuple[str, Run]) -> ResultsError:
    (before, one), (name, other) = first, second
    files = " and ".join(dict.fromkeys(part for part in (before, name) if part))
    what = f"{one.scenario} / {one.case}, {one.variant}, {one.threads} threads, repeat {one.repeat}"
    return ResultsError(
        f"{files}{': ' if files else ''}two results of one run of sweep {one.sweep} ({what}), begun "
        f"{one.began} and {other.began}. Were two machines with one id used, or two sweeps run at once? "
        "Report the files apart"
    )


def passes(runs: Sequence[Run]) -> list[int]:
    """
    One number a run: runs of a sweep that share it, and the repeat, were taken in one go, as a round.

    A sweep takes one round after the other. Where an earlier round comes again, something was added to it
    later: a setting, or a failed run once more. Where nothing ran for a while, it had been interrupted.
    """
    found = [0] * len(runs)
    last: dict[tuple[str, str], int] = {}
    for index in sorted(range(len(runs)), key=lambda place: (runs[place].time, runs[place].repeat)):
        run = runs[index]
        before = last.get((run.host.id, run.sweep))
        if before is not None:
            found[index] = found[before] + _breaks(runs[before], run)
        last[run.host.id, run.sweep] = index
    return found


def _breaks(before: Run, run: Run) -> bool:
    pause_s = (run.time - before.time).total_seconds() - (before.wall_s or 0)
    return run.repeat < before.repeat or pause_s > PAUSE_S
