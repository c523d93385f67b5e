# SPDX-License-Identifier: BSD-3-Clause
"""The runs of results files as a long table: a row a run, each once. What the runs of a setting share is read
and checked once, so a million runs take a minute and little memory.

A line is the text of its setting, in it the repeat and the time, and behind it what the run gave."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

import numpy as np
import pandas as pd
from pydantic import ConfigDict, ValidationError, create_model

from nrbench.record import Host, ResultsError, first_error, moment, printable
from nrbench.sweep.configuration import Key, keys_of
from nrbench.sweep.record import RUNS, Run, identity
from nrbench.table import Frame

REPEAT, BEGAN, STATUS = b'"repeat":', b',"began":"', b'"status":"'
NUMBERS = ("snr_db", "trials", "errors", "wall_s", "cpu_s")  # of a run, beside its figures
PAUSE_S = 60.0  # between two runs in which the machine did something else
BLOCK = 50_000  # lines that become columns at once

_NAMES = list(Run.model_fields)
_OUTCOME: Any = {name: (Run.model_fields[name].annotation, Run.model_fields[name]) for name in
                 _NAMES[_NAMES.index("status"):]}  # fmt: skip
Outcome: Any = create_model("Outcome", __config__=ConfigDict(extra="forbid"), **_OUTCOME)


class _Line(NamedTuple):
    setting: int
    repeat: int
    file: int
    began: str
    began_s: float
    outcome: Any


class _Reader:
    def __init__(self) -> None:
        self.settings: list[Run] = []  # the first run of each
        self._places: dict[bytes, int] = {}
        self._hosts: dict[Host, Host] = {}  # those of all settings are few

    def lines(self, path: Path, file: int) -> Iterator[_Line]:
        """A last line that was cut off by an interruption is left out."""
        try:
            with open(path, "rb", buffering=4 << 20) as lines:
                for number, line in enumerate(lines, start=1):
                    found = line.strip() and self._quick(line, file)
                    if line.strip() and (found := found or self._checked(line, file, path, number)):
                        yield found
        except OSError as error:
            raise ResultsError(f"{path}: {error.strerror}") from error

    def _quick(self, line: bytes, file: int) -> _Line | None:
        """None: its setting was not met before, or something is wrong."""
        setting, repeat, began, outcome = _split(line)
        place = self._places.get(setting)
        if place is None or not repeat.isdigit():
            return None
        try:
            text = began.decode()
            found = Outcome.model_validate_json(b"{" + STATUS + outcome)
            return _Line(place, int(repeat), file, text, moment(text).timestamp(), found)
        except (ValueError, OverflowError):
            return None

    def _checked(self, line: bytes, file: int, path: Path, number: int) -> _Line | None:
        try:
            run = Run.model_validate_json(line)
        except ValidationError as error:
            what = error.errors()[0]
            if what["type"] != "json_invalid":
                raise ResultsError(f"{path}:{number}: not a run of a sweep: {first_error(error)}") from error
            if not line.endswith(b"\n"):
                return None  # it was being written
            raise ResultsError(f"{path}:{number}: not JSON: {what['msg']}") from error
        setting, *_, outcome = _split(line)
        if outcome:
            self._places.setdefault(setting, len(self.settings))
        host = self._hosts.setdefault(run.host, run.host)
        self.settings.append(run.model_copy(update={"host": host}))
        found = Outcome.model_construct(**{name: getattr(run, name) for name in _OUTCOME})
        began_s = moment(run.began).timestamp()
        return _Line(len(self.settings) - 1, run.repeat, file, run.began, began_s, found)


def _split(line: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """@return its setting, repeat, time and outcome"""
    before, _, rest = line.partition(REPEAT)
    repeat, _, rest = rest.partition(BEGAN)
    began, _, rest = rest.partition(b'"')
    between, _, outcome = rest.partition(b"," + STATUS)
    return before + between, repeat, began, outcome


def _columns(lines: Sequence[_Line]) -> Frame:
    """A row a run, with a column for each figure."""
    outcomes = [vars(line.outcome) for line in lines]
    names = ("status", "error", "derived", *NUMBERS)
    found = pd.DataFrame([line[:-1] for line in lines], columns=[*_Line._fields[:-1]])
    of = pd.DataFrame({name: [one[name] for one in outcomes] for name in names})
    of = of.astype(dict.fromkeys(NUMBERS, float))
    of["derived"] = of["derived"].map(" ".join)
    figures = pd.DataFrame([one["figures"] for one in outcomes], index=of.index, dtype=float)
    return pd.concat([found, of, figures], axis=1)


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

    @property
    def figures(self) -> list[str]:
        return [str(name) for name in self.frame if str(name).endswith("_us")]


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
    what = f"{run.scenario} / {run.case}, {run.variant}, {run.threads} threads, repeat {one['repeat']}"
    two = f"two results of one run of sweep {run.sweep} ({what}), begun {one['began']} and {other['began']}"
    ask = "Were two machines with one id used, or two sweeps run at once? Report the files apart"
    return ResultsError(f"{files}{': ' if files else ''}{two}. {ask}")


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
        lines = reader.lines(path / RUNS if path.is_dir() else path, number)
        before = len(blocks)
        while block := list(islice(lines, BLOCK)):
            blocks.append(_columns(block))
        if len(blocks) == before:
            raise ResultsError(f"{path}: holds no runs")
    frame = pd.concat(blocks, ignore_index=True)
    frame["error"] = frame["error"].map(printable)
    runs = _once(reader.settings, frame, [str(path) for path in paths] if len(paths) > 1 else [""])
    sweep = _numbered((run.host.id, run.sweep) for run in runs.settings)[runs.frame["setting"]]
    runs.frame["pass"] = _passes(runs.frame, sweep)
    runs.frame["round"] = (sweep << 44) + (runs.frame["pass"].to_numpy() << 31) + runs.frame["repeat"]
    return runs
