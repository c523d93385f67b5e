# SPDX-License-Identifier: BSD-3-Clause
"""The runs of results files as columns: a row a run, each once. What the runs of a setting share is read and
checked once, so a million runs take a minute and little memory.

A line is the text of its setting, in it the repeat and the time, and behind it what the run gave."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np
import pandas as pd
from pydantic import ValidationError

from nrbench.record import Host, ResultsError, first_error, moment
from nrbench.sweep.configuration import Key, keys_of
from nrbench.sweep.record import RUNS, Run, identity

REPEAT, BEGAN, STATUS = b'"repeat":', b',"began":"', b',"status":"'
NUMBERS = ("snr_db", "trials", "errors", "wall_s", "cpu_s")  # of a run, beside its figures
MOST = 1e15
PAUSE_S = 60.0  # between two runs in which the machine did something else


def results_file(path: Path) -> Path:
    """Of a folder, the results in it."""
    return path / RUNS if path.is_dir() else path


class _Columns:
    """One entry a run in each column."""

    def __init__(self) -> None:
        self.settings: list[Run] = []  # the first run of each
        self.plain: dict[str, list[Any]] = {name: [] for name in ("began", "status", "derived")}
        self.whole = {name: array("i") for name in ("setting", "repeat", "file")}
        self.seconds = array("d")
        self.numbers: dict[str, array[float]] = {name: array("d") for name in NUMBERS}
        self.errors: dict[int, str] = {}  # of failed runs, by row
        self._places: dict[bytes, int] = {}
        self._hosts: dict[str, Host] = {}  # by their text: those of all settings are few
        self._tails: set[tuple[str, ...]] = set()  # the fields behind a setting that were met

    def __len__(self) -> int:
        return len(self.seconds)

    def read(self, path: Path, file: int) -> None:
        """Appends a file's runs. A last line that was cut off by an interruption is left out."""
        try:
            with open(path, "rb", buffering=4 << 20) as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip() and not self._quick(line, file):
                        self._slow(line, f"{path}:{number}", file)
        except OSError as error:
            raise ResultsError(f"{path}: {error.strerror}") from error

    def _slow(self, line: bytes, where: str, file: int) -> None:
        """Checks all, or finds out what is wrong."""
        try:
            data = json.loads(line)
            text = json.dumps(data.get("host")) if isinstance(data, dict) else ""
            run = Run.model_validate(data | {"host": self._hosts[text]} if text in self._hosts else data)
            self._hosts[text] = run.host
        except ValidationError as error:
            raise ResultsError(f"{where}: not a run of a sweep: {first_error(error)}") from error
        except (ValueError, RecursionError) as error:
            if line.endswith(b"\n"):
                raise ResultsError(f"{where}: not JSON: {error}") from error
            return  # it was being written
        begin, rest = line.find(REPEAT), line.find(STATUS)
        end = line.find(b'"', line.find(BEGAN, begin) + len(BEGAN))
        place = len(self.settings)
        if 0 <= begin < end < rest:
            place = self._places.setdefault(line[:begin] + line[end:rest], place)
            self._tails.add(tuple(json.loads(b"{" + line[rest + 1 :])))
        if place == len(self.settings):
            self.settings.append(run)
        tail = {**run.model_dump(), "seconds": moment(run.began).timestamp()}
        self._append(place, run.repeat, run.began, tail, file)

    def _quick(self, line: bytes, file: int) -> bool:
        """@return whether the setting and the kinds of fields were met before, and the values are valid"""
        begin = line.find(REPEAT)
        comma = line.find(BEGAN, begin)
        end = line.find(b'"', comma + len(BEGAN))
        rest = line.find(STATUS, end)
        digits = line[begin + len(REPEAT) : comma]
        place = self._places.get(line[:begin] + line[end:rest])
        if place is None or begin < 0 or not digits.isdigit():
            return False
        try:
            tail = json.loads(b"{" + line[rest + 1 :])
            if tuple(tail) not in self._tails or tail["status"] != "ok":
                return False
            began = line[comma + len(BEGAN) : end].decode()
            time = datetime.fromisoformat(began)
            numbers = [*tail["figures"].values(), *filter(None, (tail["wall_s"], tail["cpu_s"]))]
            if time.tzinfo is None or not all(0 <= number <= MOST for number in numbers):
                return False
            self._append(place, int(digits), began, tail | {"seconds": time.timestamp()}, file)
        except (ValueError, RecursionError, TypeError, OverflowError):
            return False
        return True

    def _append(self, place: int, repeat: int, began: str, tail: dict[str, Any], file: int) -> None:
        if tail.get("error"):
            self.errors[len(self)] = tail["error"]
        figures = tail["figures"]
        if not figures.keys() <= self.numbers.keys():
            for name in figures.keys() - self.numbers.keys():
                self.numbers[name] = array("d", [math.nan]) * len(self)
        for name, column in self.numbers.items():
            value = figures.get(name)
            if value is None:
                value = tail.get(name)
            column.append(math.nan if value is None else value)
        for name, one in (("began", began), ("status", tail["status"]), ("derived", tuple(tail["derived"]))):
            self.plain[name].append(one)
        for name, number in (("setting", place), ("repeat", repeat), ("file", file)):
            self.whole[name].append(number)
        self.seconds.append(tail["seconds"])

    def frame(self) -> pd.DataFrame:
        columns: dict[str, Any] = {name: np.frombuffer(of, np.intc) for name, of in self.whole.items()}
        columns |= {"began_s": np.frombuffer(self.seconds, float)}
        columns |= {name: np.frombuffer(of, float) for name, of in self.numbers.items()}
        frame = pd.DataFrame(columns if len(self) else {name: [] for name in columns})
        frame["began"] = self.plain["began"]
        frame["status"] = pd.Categorical(self.plain["status"])
        frame["derived"] = pd.Categorical([" ".join(names) for names in self.plain["derived"]])
        made: pd.DataFrame = frame
        return made


@dataclass(frozen=True)
class Runs:
    """A row a run that counts: place of its setting, repeat, pass, round, status, numbers, figures.

    Runs of a round were taken in one go."""

    settings: Sequence[Run]
    frame: pd.DataFrame
    errors: dict[int, str]  # of failed runs, by row
    repeated: Counter[str] = field(default_factory=Counter)  # by file: runs that are in an earlier file, too
    replaced: Counter[str] = field(default_factory=Counter)  # failed runs that were taken again, by cause

    @cached_property
    def keys(self) -> list[Key]:
        """The table of each setting."""
        return keys_of(self.settings)

    @property
    def figures(self) -> list[str]:
        return [str(name) for name in self.frame if str(name).endswith("_us")]


def _passes(frame: pd.DataFrame, sweep: Any) -> Any:
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


def _numbered(keys: Iterator[object]) -> Any:
    """Equal keys have equal numbers."""
    found: dict[object, int] = {}
    return np.asarray([found.setdefault(key, len(found)) for key in keys], dtype=np.int64)


def _once(
    columns: _Columns, frame: pd.DataFrame, names: Sequence[str]
) -> tuple[Any, Counter[str], Counter[str]]:
    """Every run once. Of a run that failed and was taken again the last, of a line that is in two files one.

    @raise ResultsError  two results of what should be one run: neither may be dropped"""
    same = _numbered((run.host.id, run.sweep, *identity(run, 0)) for run in columns.settings)
    run_id = (same[frame["setting"].to_numpy()] << 32) + frame["repeat"].to_numpy()
    repeated: Counter[str] = Counter()
    replaced: Counter[str] = Counter()
    dropped: list[int] = []
    kept: dict[int, int] = {}
    values: Any = [*NUMBERS, *(name for name in frame if str(name).endswith("_us"))]
    for row in np.flatnonzero(pd.Series(run_id).duplicated(keep=False)):
        before = kept.setdefault(int(run_id[row]), int(row))
        if before == row:
            continue
        one, other = (frame.iloc[place] for place in (before, row))
        same_figures: bool = one[values].equals(other[values])
        if (one["began"], one["status"]) == (other["began"], other["status"]) and same_figures:
            repeated[names[other["file"]]] += 1
            dropped.append(int(row))
        elif one["status"] == other["status"] == "ok":
            raise _two_results(columns.settings[one["setting"]], one, other, names)
        else:
            sides: Any = ((other, int(row)), (one, before))
            (bad, worse), (_, better) = sorted(
                sides, key=lambda of: (of[0]["status"] == "ok", of[0]["began_s"])
            )
            run = columns.settings[bad["setting"]]
            replaced[f"{run.host.label}, {run.variant}, {bad['status']}"] += 1
            dropped.append(worse)
            kept[int(run_id[row])] = better
    return dropped, repeated, replaced


def _two_results(run: Run, one: Any, other: Any, names: Sequence[str]) -> ResultsError:
    files = " and ".join(dict.fromkeys(filter(None, (names[one["file"]], names[other["file"]]))))
    what = f"{run.scenario} / {run.case}, {run.variant}, {run.threads} threads, repeat {one['repeat']}"
    return ResultsError(
        f"{files}{': ' if files else ''}two results of one run of sweep {run.sweep} ({what}), begun "
        f"{one['began']} and {other['began']}. Were two machines with one id used, or two sweeps run at "
        "once? Report the files apart"
    )


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
    columns, names = _Columns(), [str(path) for path in paths]
    for number, path in enumerate(paths):
        before = len(columns)
        columns.read(results_file(path), number)
        if len(columns) == before:
            raise ResultsError(f"{path}: holds no runs")
    frame = columns.frame()
    dropped, repeated, replaced = _once(columns, frame, names if len(names) > 1 else [""])
    settings = _labelled(columns.settings)
    frame = frame.drop(index=dropped)
    sweep = _numbered((run.host.id, run.sweep) for run in settings)[frame["setting"].to_numpy()]
    frame["pass"] = _passes(frame, sweep)
    frame["round"] = (sweep << 44) + (frame["pass"].to_numpy() << 31) + frame["repeat"].to_numpy()
    return Runs(settings, frame, columns.errors, repeated, replaced)
