# SPDX-License-Identifier: BSD-3-Clause
"""The runs of results files as a long table: a row a run, each once. A million runs take two minutes, and
little memory: what the runs of a setting share is kept once."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from nrbench.record import Host, ResultsError, moment, read_lines
from nrbench.sweep.configuration import Key, keys_of
from nrbench.sweep.record import RUNS, Run, identity
from nrbench.table import Frame

NUMBERS = ("snr_db", "trials", "errors", "wall_s", "cpu_s")  # of a run, beside its figures
PAUSE_S = 60.0  # between two runs in which the machine did something else
BLOCK = 50_000  # lines that become columns at once
_NAMES = list(Run.model_fields)
OF_RUN = {"repeat", "began", *_NAMES[_NAMES.index("status") :]}  # what runs of a setting do not share


class _Reader:
    def __init__(self) -> None:
        self.settings: list[Run] = []  # the first run of each
        self._places: dict[str, int] = {}
        self._hosts: dict[Host, Host] = {}  # those of all settings are few

    def rows(self, path: Path, file: int) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
        """Of each run its numbers, and its figures."""
        for run in read_lines(path / RUNS if path.is_dir() else path, Run, "run of a sweep"):
            setting = run.model_dump_json(exclude=OF_RUN)
            place = self._places.setdefault(setting, len(self.settings))
            if place == len(self.settings):
                host = self._hosts.setdefault(run.host, run.host)
                self.settings.append(run.model_copy(update={"host": host}))
            about = {"setting": place, "file": file, "began_s": moment(run.began).timestamp()}
            about |= {name: getattr(run, name) for name in ("repeat", "began", "status", "error", *NUMBERS)}
            yield about | {"derived": " ".join(run.derived)}, run.figures


def _columns(rows: Iterable[tuple[dict[str, Any], dict[str, float]]]) -> Frame:
    """A row a run, with a column for each figure."""
    about, figures = zip(*rows)
    found = pd.DataFrame(about).astype(dict.fromkeys(NUMBERS, float))
    return pd.concat([found, pd.DataFrame(figures, index=found.index, dtype=float)], axis=1)


@dataclass(frozen=True)
class Runs:
    """A row a run that counts: place of its setting, repeat, pass, round, status, error, numbers, figures.

    Runs of a round were taken in one go."""

    settings: Sequence[Run]
    frame: Frame
    repeated: Counter[str] = field(default_factory=Counter)  # by file: runs that are in an earlier file, too
    replaced: Counter[str] = field(default_factory=Counter)  # failed runs that were taken again, by cause

    @cached_property
    def keys(self) -> list[Key]:
        """The table of each setting."""
        return keys_of(self.settings)


def _passes(frame: Frame, sweep: Any) -> Any:
    """
    One number a run: runs of a sweep that share it, and the repeat, were taken in one go, as a round.

    A sweep takes one round after the other. Where an earlier round comes again, something was added to it
    later: a setting, or a failed run once more. Where nothing ran for a while, it had been interrupted.
    """
    began, repeat = frame["began_s"].to_numpy(), frame["repeat"].to_numpy()
    order = np.lexsort((repeat, began, sweep))
    wall = np.nan_to_num(frame["wall_s"].to_numpy()[order])
    pause = np.diff(began[order]) - wall[:-1] > PAUSE_S
    other = np.diff(sweep[order]) != 0
    breaks = np.concatenate([[True], other | (np.diff(repeat[order]) < 0) | pause])
    count = np.cumsum(breaks) - 1
    first = np.maximum.accumulate(np.where(np.concatenate([[True], other]), count, 0))
    found = np.empty(len(frame), dtype=np.int64)
    found[order] = count - first
    return found


def _numbered(keys: Iterable[object]) -> Any:
    """Equal keys have equal numbers."""
    return pd.factorize(pd.Series(list(keys), dtype=object))[0]


def _once(settings: Sequence[Run], frame: Frame, names: Sequence[str]) -> Runs:
    """Every run once. Of a run that failed and was taken again the last, of a line that is in two files one.

    @raise ResultsError  two results of what should be one run: neither may be dropped"""
    same = _numbered((run.host.id, run.sweep, *identity(run, 0)) for run in settings)
    frame = frame.assign(run=same[frame["setting"]], ok=frame["status"] == "ok")
    every = ["run", "repeat"]
    several = frame[frame.duplicated(every, keep=False)]
    values = [*NUMBERS, *(name for name in frame if str(name).endswith("_us"))]
    copies = several[several.duplicated([*every, "began", "status", *values])]
    several = several.drop(index=copies.index)
    results = several[several["ok"] & several[several["ok"]].duplicated(every, keep=False)]
    if len(results):
        raise _two_results(settings, results[results["run"] == results["run"].iloc[0]], names)
    last = several.sort_values(["ok", "began_s"], kind="stable")
    older = last[last.duplicated(every, keep="last")]
    runs = (settings[place] for place in older["setting"])
    replaced = (f"{run.host.label}, {run.variant}, {status}" for run, status in zip(runs, older["status"]))
    repeated = Counter(names[file] for file in copies["file"])
    frame = frame.drop(index=[*copies.index, *older.index], columns=["run", "ok"])
    return Runs(_labelled(settings), frame, repeated, Counter(replaced))


def _two_results(settings: Sequence[Run], of: Frame, names: Sequence[str]) -> ResultsError:
    one, other = of.to_dict("records")[:2]
    run = settings[one["setting"]]
    files = " and ".join(dict.fromkeys(filter(None, (names[one["file"]], names[other["file"]]))))
    what = f"sweep {run.sweep} ({run}, repeat {one['repeat']})"
    ask = "Were two machines with one id used, or two sweeps run at once? Report the files apart"
    return ResultsError(f"{files}{files and ': '}two results of one run of {what}. {ask}")


def _labelled(settings: Sequence[Run]) -> list[Run]:
    """With one label for each host: the last that it was given, with its id where two hosts have the same."""
    labels = {run.host.id: run.host.label for run in settings}
    counts = Counter(labels.values())
    wanted = {name: label if counts[label] == 1 else f"{label} ({name})" for name, label in labels.items()}
    every = {id(run.host): run.host for run in settings}
    hosts = {key: one.model_copy(update={"label": wanted[one.id]}) for key, one in every.items()}
    return [run.model_copy(update={"host": hosts[id(run.host)]}) for run in settings]


def read(paths: Sequence[Path]) -> Runs:
    """@raise ResultsError  names the file, and the line"""
    reader, blocks = _Reader(), list[Frame]()
    for number, path in enumerate(paths):
        rows, before = reader.rows(path, number), len(blocks)
        while block := list(islice(rows, BLOCK)):
            blocks.append(_columns(block))
        if len(blocks) == before:
            raise ResultsError(f"{path}: holds no runs")
    frame = pd.concat(blocks, ignore_index=True)
    runs = _once(reader.settings, frame, [str(path) for path in paths] if len(paths) > 1 else [""])
    sweep = _numbered((run.host.id, run.sweep) for run in runs.settings)[runs.frame["setting"]]
    runs.frame["pass"] = _passes(runs.frame, sweep)
    runs.frame["round"] = (sweep << 44) + (runs.frame["pass"].to_numpy() << 31) + runs.frame["repeat"]
    return runs
