# SPDX-License-Identifier: BSD-3-Clause
"""All hosts while they measure: bars on a terminal, a line now and then in a log, and the status file."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Mapping, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from nrbench.cluster.lanes import BUSY, PREPARING, Lane
from nrbench.cluster.status import write_status
from nrbench.progress import LOG_PERIOD_S, clock_text, shows_bars

PERIOD_S = 0.5
SHORT = {BUSY: "measuring"}  # of many hosts
HOSTS_MAX = 24  # bars; those of more hosts do not fit


class Display:
    def __init__(self, folder: Path, dashboard: str | None, out: TextIO | None = None) -> None:
        self.folder, self.dashboard, self.out = folder, dashboard, out or sys.stderr
        self.done: Counter[str] = Counter()  # runs by host id
        self.failed = 0
        self.planned_s = self.done_s = 0.0  # by the guesses
        self.left: Mapping[str, int] = {}  # runs by host id; "": of no host yet
        self.left_s = 0.0
        self._begin = time.monotonic()
        self._shown = self._logged = -LOG_PERIOD_S
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        if shows_bars(self.out):
            name, text = TextColumn("{task.fields[name]}"), TextColumn("{task.description}")
            columns = (name, BarColumn(), MofNCompleteColumn(), text)
            console = Console(file=self.out)
            self._bars = Progress(*columns, console=console, transient=True, auto_refresh=False)
            self._bars.start()

    def took(self, host: str, guess_s: float, good: bool) -> None:
        self.done[host] += 1
        self.done_s += guess_s
        self.failed += not good

    @property
    def count(self) -> int:
        return self.done.total() + sum(self.left.values())

    def _left_s(self, lanes: Mapping[str, Lane]) -> float:
        """By how the guesses have held so far, on the hosts that measure."""
        working = sum(lane.state in (BUSY, PREPARING) for lane in lanes.values())
        elapsed_s = time.monotonic() - self._begin
        ratio = elapsed_s * max(1, working) / self.done_s if self.done_s else 1.0
        return self.left_s * ratio / max(1, working)

    def show(self, lanes: Mapping[str, Lane]) -> None:
        now = time.monotonic()
        if now - self._shown < PERIOD_S:
            return
        self._shown = now
        self._write(lanes, "")
        if self._bars:
            self._draw(self._bars, lanes)
        elif now - self._logged >= LOG_PERIOD_S:
            self._logged = now
            print(self._line(lanes, now)[:110], file=self.out, flush=True)

    def _line(self, lanes: Mapping[str, Lane], now: float) -> str:
        states = Counter(SHORT.get(lane.state, lane.state.removeprefix("is ")) for lane in lanes.values())
        hosts = f"hosts: {', '.join(f'{count} {state}' for state, count in states.items())}"
        if not self.count:
            return f"        {hosts}"  # no host has its runs yet
        times = f"elapsed {clock_text(now - self._begin)}  left {clock_text(self._left_s(lanes))}"
        return f"{self.done.total():>6}/{self.count}  {times}  {hosts}"

    def _draw(self, bars: Progress, lanes: Mapping[str, Lane]) -> None:
        rows = [("", "all hosts", self.done.total(), self.count, f"left {clock_text(self._left_s(lanes))}")]
        for key, lane in list(lanes.items())[:HOSTS_MAX]:
            count = self.done[key] + self.left.get(key, 0)
            rows.append((key, lane.host.name, self.done[key], count, lane.text))
        for key, name, done, count, text in rows:
            if key not in self._tasks:
                self._tasks[key] = bars.add_task("", total=count, name=name[:20])
            bars.update(self._tasks[key], completed=done, total=count, description=text[:50])
        bars.refresh()

    def _write(self, lanes: Mapping[str, Lane], over: str) -> None:
        hosts: list[dict[str, Any]] = [
            {"name": lane.host.name, "done": self.done[key], "text": lane.text} for key, lane in lanes.items()
        ]
        status = {"done": self.done.total(), "count": self.count, "failed": self.failed, "hosts": hosts}
        more = {"left_s": self._left_s(lanes), "dashboard": self.dashboard, "over": over}
        write_status(self.folder, status | more)

    def finish(self, lanes: Mapping[str, Lane], over: str) -> None:
        if self._bars:
            self._bars.stop()
        self._write(lanes, over)
