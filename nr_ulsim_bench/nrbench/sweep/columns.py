# SPDX-License-Identifier: BSD-3-Clause
"""Very many runs in little memory: what the runs of a setting share is read once, and the rest is in columns.

A line is the text of its setting, and between its two halves the repeat and the time, behind it the figures.
The text of a setting that was met before is not read again."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from nrbench.record import ResultsError, first_error, moment
from nrbench.sweep.figures import DECODING, RX, SYMBOLS
from nrbench.sweep.record import Run

BUFFER_BYTES = 4 << 20
REPEAT, BEGAN, STATUS = b'"repeat":', b',"began":"', b',"status":"'
MAIN_KEYS = (RX, DECODING, SYMBOLS)  # the first that a run has is its main figure


class Columns:
    """One entry a run in each column; the settings once each."""

    def __init__(self) -> None:
        self.settings: list[Run] = []  # the first run of each
        self.setting, self.repeat, self.errors = array("i"), array("i"), array("i")  # errors: -1 = unknown
        self.began_s, self.main_us, self.cpu_s, self.wall_s = (array("d") for _ in range(4))
        self.ok = array("b")
        self.causes: Counter[tuple[int, str]] = Counter()  # of runs that failed, by setting
        self._places: dict[bytes, int] = {}
        self._tails: set[tuple[str, ...]] = set()  # the fields behind a setting that were met

    def __len__(self) -> int:
        return len(self.setting)

    def read(self, path: Path) -> int:
        """Appends a file's runs. A last line that was cut off by an interruption is left out.

        @return how many. @raise ResultsError  names file and line"""
        before = len(self)
        try:
            with open(path, "rb", buffering=BUFFER_BYTES) as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        self._line(line, f"{path}:{number}")
        except OSError as error:
            raise ResultsError(f"{path}: {error.strerror}") from error
        return len(self) - before

    def _line(self, line: bytes, where: str) -> None:
        if self._quick(line):
            return
        try:
            run = Run.model_validate(json.loads(line))
        except ValidationError as error:
            raise ResultsError(f"{where}: not a run of a sweep: {first_error(error)}") from error
        except (ValueError, RecursionError) as error:
            if line.endswith(b"\n"):
                raise ResultsError(f"{where}: not JSON: {error}") from error
            return  # it was being written
        self._new(run, line)

    def _quick(self, line: bytes) -> bool:
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
            began = datetime.fromisoformat(line[comma + len(BEGAN) : end].decode())
            valid = tuple(tail) in self._tails and began.tzinfo is not None
            return valid and self._append(place, int(digits), began, tail)
        except (ValueError, RecursionError, TypeError, OverflowError):
            return False  # the slow way finds out what it is

    def _new(self, run: Run, line: bytes) -> None:
        begin, rest = line.find(REPEAT), line.find(STATUS)
        end = line.find(b'"', line.find(BEGAN, begin) + len(BEGAN))
        place = len(self.settings)
        if 0 <= begin < end < rest:
            place = self._places.setdefault(line[:begin] + line[end:rest], place)
            self._tails.add(tuple(json.loads(b"{" + line[rest + 1 :])))
        if place == len(self.settings):
            self.settings.append(run)
        tail = run.model_dump(include={"status", "error", "errors", "figures", "wall_s", "cpu_s"})
        self._append(place, run.repeat, moment(run.began), tail)

    def _append(self, place: int, repeat: int, began: datetime, tail: dict[str, Any]) -> bool:
        """@return False: a value is not valid, and nothing was appended"""
        figures, status, errors = tail["figures"], tail["status"], tail["errors"]
        numbers = [_first(figures), tail["cpu_s"], tail["wall_s"]]
        values = [math.nan if one is None else float(one) for one in numbers]
        if any(one < 0 or one > 1e15 for one in values) or not isinstance(status, str):
            return False
        if status != "ok":
            if status not in STATUSES:
                return False
            self.causes[place, f"{status}: {tail['error']}" if tail["error"] else status] += 1
        self.errors.append(-1 if errors is None else errors)
        self.setting.append(place)
        self.repeat.append(repeat)
        self.began_s.append(began.timestamp())
        self.ok.append(status == "ok")
        for column, value in zip((self.main_us, self.cpu_s, self.wall_s), values):
            column.append(value)
        return True


STATUSES = ("ok", "crash", "hang", "unparsable", "failed", "missing")


def _first(figures: dict[str, float]) -> float | None:
    return next((figures[key] for key in MAIN_KEYS if key in figures), None)


def as_array(column: Sequence[float]) -> NDArray[Any]:
    """Without a copy."""
    return np.asarray(memoryview(column))  # type: ignore[arg-type]


def count_lines(paths: Sequence[Path], enough: int) -> int:
    """Of all files; no more than about `enough` are counted."""
    count = 0
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while count <= enough and (block := file.read(BUFFER_BYTES)):
                count += block.count(b"\n")
    return count
