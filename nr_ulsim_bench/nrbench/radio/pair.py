# SPDX-License-Identifier: BSD-3-Clause
"""One run: a gNB and a UE, from their start to the fields of a record. Whatever happens, no process, socket,
shared memory or file of them is left."""

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterator, Mapping, NamedTuple

from nrbench.radio import parse, softmodem, watch
from nrbench.radio.record import SIDES, Blocks, Side, SideName, Step
from nrbench.radio.softmodem import Meeting, Pair
from nrbench.record import ResultsError
from nrbench.sweep.parse import ANSI, pool_of
from nrbench.sweep.process import OUTPUT_MAX_BYTES, kill_group, signal_name, start

UP_LIMIT_S = 120.0  # until the gNB's device waits for the UE
ATTACH_LIMIT_S, ATTACH_LIMIT_SCALED_S = 60.0, 10.0  # wall time, and sample time
SETTLE_S = 3.0  # after the attach; samples are late at the start
LOOK_S = 0.1
OUTPUT = "output"  # of a program, in its working directory
_LOCK = "\0nrbench-radio"  # in the abstract namespace: it is gone with its process

Taken = dict[str, Any]  # fields of a RadioRun


class _Failed(Exception):
    def __init__(self, outcome: str, error: str) -> None:
        super().__init__(error)
        self.outcome = outcome


class _Moment(NamedTuple):
    """An end of the steady stretch."""

    monotonic_s: float
    cpu_times: dict[SideName, watch.CpuTimes]
    counters: dict[SideName, watch.Counters]
    steps: dict[SideName, dict[str, Step]]
    traffic: parse.Traffic


class _Run(NamedTuple):
    pair: Pair
    folder: Path
    where: Meeting
    programs: dict[SideName, subprocess.Popen[bytes]]  # those that were started

    def start(self, side: SideName) -> None:
        folder, variables = self.folder / side, self.pair.environment(side)
        folder.mkdir()
        (folder / f"{side}.conf").write_text(softmodem.configuration(side, self.pair.cell.prb))
        words = self.pair.command(side, folder, self.where)
        with open(folder / OUTPUT, "wb") as out:
            try:
                self.programs[side] = start(words, out, folder, variables)
            except OSError as error:
                raise _Failed(f"{side}-died", f"cannot be started: {error.strerror}") from error

    def check(self) -> None:
        """@raise _Failed  a program has ended"""
        for side, process in self.programs.items():
            if process.poll() is not None:
                name = signal_name(process.returncode)
                why = parse.cause(self.written(side))
                raise _Failed(f"{side}-died", f"ended by {name}; {why}" if name else why)

    def until(self, condition: Callable[[], object], limit_s: float) -> bool:
        """@return whether it came true in time"""
        end = time.monotonic() + limit_s
        while not condition():
            self.check()
            if time.monotonic() >= end:
                return False
            time.sleep(min(LOOK_S, max(0.0, end - time.monotonic())))
        return True

    def wait(self, seconds: float) -> None:
        self.until(lambda: False, seconds)

    def written(self, side: SideName, name: str = OUTPUT) -> str:
        """The end of a file of its working directory."""
        with contextlib.suppress(FileNotFoundError), open(self.folder / side / name, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - OUTPUT_MAX_BYTES))
            return ANSI.sub("", file.read().decode("utf-8", errors="replace").replace("\r", ""))
        return ""

    def traffic(self) -> parse.Traffic | None:
        return parse.traffic(self.written("gnb", parse.MAC_STATISTICS))

    def moment(self, places: Mapping[SideName, int]) -> _Moment:
        """@param places  of the radios' counters"""
        now_s, pids = time.monotonic(), {side: process.pid for side, process in self.programs.items()}
        cpu_times = {side: watch.cpu_times(pid) for side, pid in pids.items()}
        found = {side: watch.read_counters(pid, places[side]) for side, pid in pids.items()}
        counters = {side: of for side, of in found.items() if of}
        steps = {side: parse.steps(self.written(side, parse.STEP_STATISTICS[side])) for side in pids}
        traffic = self.traffic()
        if len(counters) < len(SIDES) or traffic is None:
            self.check()
            raise _Failed("no-report", "the counters of the radios or of the blocks cannot be read")
        return _Moment(now_s, cpu_times, counters, steps, traffic)

    def end(self) -> None:
        for process in self.programs.values():
            kill_group(process)
        try:
            for process in self.programs.values():
                process.wait()
        finally:
            self.where.clear()


@contextlib.contextmanager
def _running(pair: Pair) -> Iterator[_Run]:
    """@raise ResultsError  another run is under way"""
    with socket.socket(socket.AF_UNIX) as lock, TemporaryDirectory(prefix="nrbench-") as folder:
        try:
            lock.bind(_LOCK)
        except OSError as error:
            raise ResultsError("another nrbench radio runs on this machine; wait for its end") from error
        softmodem.check_free()
        run = _Run(pair, Path(folder), softmodem.meeting(pair.program("gnb"), Path(folder)), {})
        run.where.clear()  # what programs that were killed have left
        try:
            yield run
        finally:
            run.end()


def take(pair: Pair) -> Taken:
    """
    Runs the pair once.

    @raise ResultsError  another gNB uses the device; nothing was started
    """
    with _running(pair) as run:
        try:
            return {"outcome": "ok", **_measure(run)}
        except _Failed as failed:
            return {"outcome": failed.outcome, "error": str(failed)}


def _measure(run: _Run) -> Taken:
    run.start("gnb")
    if not run.until(run.where.file.exists, UP_LIMIT_S):
        cause = parse.cause(run.written("gnb"))
        raise _Failed("gnb-died", f"no radio device after {UP_LIMIT_S:.0f} s; {cause}")
    run.start("ue")
    limit_s = ATTACH_LIMIT_S + ATTACH_LIMIT_SCALED_S / run.pair.timescale
    if not run.until(lambda: (found := run.traffic()) and found.received, limit_s):
        raise _Failed("no-attach", f"no uplink block was decoded in {limit_s:.0f} s")
    rate = softmodem.CARRIERS[run.pair.cell.prb].sample_rate
    places = {side: watch.find_counters(process.pid, rate) for side, process in run.programs.items()}
    run.wait(SETTLE_S)
    before = run.moment(places)
    run.wait(run.pair.seconds)
    after = run.moment(places)
    dl, dl_failed, ul, ul_failed, _ = (now - then for now, then in zip(after.traffic, before.traffic))
    return {
        "steady_s": round(after.monotonic_s - before.monotonic_s, 2),
        "sides": {side: _side(run, side, before, after) for side in SIDES},
        "ul": Blocks(blocks_after_attach=ul, failed_after_attach=ul_failed),
        "dl": Blocks(blocks_after_attach=dl, failed_after_attach=dl_failed),
    }


def _side(run: _Run, side: SideName, before: _Moment, after: _Moment) -> Side:
    line = pool_of(run.written(side))
    return Side(
        program=run.pair.program(side).build.sha256,
        steady=after.counters[side].since(before.counters[side]),
        cpu_s=watch.cpu_s(before.cpu_times[side], after.cpu_times[side]),
        steps=parse.steps_since(before.steps[side], after.steps[side]),
        pool={"line": line} if line else None,
    )
